// An open bundle file. bundle_format.hpp describes its contents.
#pragma once

#include <filesystem>
#include <optional>

#include "cache/bundle_format.hpp"
#include "cache/layer.hpp"
#include "cache/signature.hpp"
#include "util/files.hpp"

namespace cubinet::cache {

// Keeps the file open and its table of contents in memory, so that replacing the file by a rename does not disturb a
// reader. Thread-safe, fork-safe.
class Bundle final : public Layer {
 public:
  // Reads the table of contents and checks it, the file's length and, with a key, the signature; reads no blob.
  // not_found: there is no file. io: it cannot be read. invalid_argument: it is damaged, is not a bundle, or is not
  // signed with that key. With `trusted_only` also cache_unusable if other users may have written the file
  // (ownership.hpp), as for a root.
  static Expected<Bundle> open(const std::filesystem::path& path, const std::optional<VerifyKey>& key,
                               bool trusted_only = false);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] const BundleContents& contents() const { return contents_; }

  [[nodiscard]] Expected<Object> read(const Key& key) const override;
  [[nodiscard]] bool exists(const Key& key) const override;
  // Lists the table of contents.
  [[nodiscard]] Expected<Listing> list() const override;
  // Reads the object of row `i` of the contents; errors as from read().
  [[nodiscard]] Expected<Object> read_row(std::uint64_t i) const;

 private:
  [[nodiscard]] Expected<Object> load(const BundleRow& row) const;

  std::filesystem::path path_;
  util::File file_;
  BundleContents contents_;
};

}  // namespace cubinet::cache
