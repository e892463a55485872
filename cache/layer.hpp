// The places that a cabinet searches: its first root, or a bundle in the place of one, and what lies under it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cache/cabinet.hpp"
#include "cache/key.hpp"
#include "cache/root.hpp"

namespace cubinet::cache {

// Thread-safe, and usable on both sides of a fork.
class Layer {
 public:
  // What is there, whole or not.
  struct Listing {
    std::map<Key, std::int64_t> objects;  // with the sizes of the files, of those in a bundle unpacked
    std::vector<std::string> strangers;   // names in the folder that no key stands for
    std::vector<Unreadable> unreadable;   // folders whose objects cannot be known
  };

  virtual ~Layer() = default;
  // The object, every byte checked. not_found: there is none. invalid_argument: damaged, with the reason. io: it cannot
  // be read.
  [[nodiscard]] virtual Expected<Object> read(const Key& key) const = 0;
  // Whether there is one, whole or not.
  [[nodiscard]] virtual bool exists(const Key& key) const = 0;
  [[nodiscard]] virtual Expected<Listing> list() const = 0;
};

struct OpenedLayer {
  std::unique_ptr<Layer> layer;
  Root root;  // read-only; of a bundle its path alone, and there is no folder behind it
  bool is_bundle = false;
};

// A folder, as open_layer (root.hpp) takes it; or a bundle, which is held to the same rule of who may own and write it,
// and to outside.bundle_key.
Expected<OpenedLayer> open_folder_or_bundle(const std::filesystem::path& path, const Surroundings& outside);

}  // namespace cubinet::cache
