#include "cache/layer.hpp"

#include <optional>
#include <system_error>
#include <utility>

#include "cache/bundle.hpp"
#include "cache/object_store.hpp"
#include "cache/signature.hpp"

namespace cubinet::cache {
namespace {

namespace fs = std::filesystem;

constexpr const char* read_only_reason = "it is a bundle, which is only read";

Expected<OpenedLayer> open_bundle(const fs::path& path, const fs::path& key_file) {
  std::optional<VerifyKey> key;
  if (!key_file.empty()) {
    auto read = VerifyKey::read(key_file);
    if (!read) return propagate(read);
    key = std::move(*read);
  }
  auto bundle = Bundle::open(path, key, true);
  if (!bundle) return propagate(bundle);
  return OpenedLayer{std::make_unique<Bundle>(std::move(*bundle)),
                     Root{{path}, Persistence::readonly, read_only_reason}, true};
}

}  // namespace

Expected<OpenedLayer> open_folder_or_bundle(const fs::path& path, const CabinetOptions& options) {
  std::error_code error;  // a path that cannot be examined is reported by open_layer
  if (fs::is_regular_file(path, error)) return open_bundle(fs::absolute(path, error), options.bundle_key);
  auto root = open_layer(path);
  if (!root) return propagate(root);
  auto store = std::make_unique<ObjectStore>(root->layout, options.calls, root->own_files_only);
  return OpenedLayer{std::move(store), std::move(*root), false};
}

}  // namespace cubinet::cache
