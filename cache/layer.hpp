// The places that a cabinet searches: its first root, or a bundle in its place, and the layers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cache/entry.hpp"
#include "cache/options.hpp"
#include "cache/root.hpp"

namespace cubinet::cache {

// Thread-safe, and usable on both sides of a fork.
class Layer {
 public:
  // All files of the layer, sound or not.
  struct Listing {
    std::map<Key, std::int64_t> objects;  // with the sizes of the object files, uncompressed
    std::vector<std::string> strangers;   // names in objects/ that are not keys
    std::vector<Unreadable> unreadable;   // folders that cannot be listed
  };

  virtual ~Layer() = default;
  // Returns the object after checking every byte. not_found: there is none. invalid_argument: it is damaged, with the
  // reason. io: it cannot be read.
  [[nodiscard]] virtual Expected<Object> read(const Key& key) const = 0;
  // Whether there is an object, sound or not.
  [[nodiscard]] virtual bool exists(const Key& key) const = 0;
  [[nodiscard]] virtual Expected<Listing> list() const = 0;
};

struct OpenedLayer {
  std::unique_ptr<Layer> layer;
  Root root;  // read-only; for a bundle only its path, without a folder behind it
  bool is_bundle = false;
};

// Opens a folder as open_layer (root.hpp) does, or a bundle: with the same rules for its owner and permissions, and
// signed with options.bundle_key if that is set.
Expected<OpenedLayer> open_folder_or_bundle(const std::filesystem::path& path, const CabinetOptions& options);

}  // namespace cubinet::cache
