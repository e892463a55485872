#include "cache/bundle.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

#include "cache/ownership.hpp"

namespace cubinet::cache {
namespace {

namespace fs = std::filesystem;

Expected<void> check_owner(const fs::path& path, const util::File& file) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fail(ErrorCode::io, util::system_message("examine", path, errno));
  return check_trust(path, status, "bundle");
}

Expected<BundleContents> read_contents(const util::OpenedFile& opened, const fs::path& path) {
  const auto start = util::read_at(opened.file, 0, bundle_head_bytes, path);
  if (!start) return propagate(start);
  const auto head = BundleContents::parse_head(*start, opened.bytes);
  if (!head) return propagate(head);
  auto front = util::read_at(opened.file, 0, static_cast<std::size_t>(head->front_bytes()), path);
  if (!front) return propagate(front);
  return BundleContents::parse(std::move(*front), opened.bytes);
}

Expected<void> check_signature(const BundleContents& contents, const VerifyKey& key) {
  if (!contents.is_signed()) return fail(ErrorCode::invalid_argument, "it is not signed, and a signature is asked for");
  if (key.accepts(contents.signed_part(), contents.signature())) return {};
  return fail(ErrorCode::invalid_argument, "it is not signed with the key that is asked for, or was changed since");
}

// Adds the file's name to the error of a damaged or unsigned bundle. Read errors name it already.
Error about(const fs::path& path, Error error) {
  if (error.code == ErrorCode::invalid_argument) {
    error.message = fmt::format("the bundle {} is refused: {}", path.native(), error.message);
  }
  return error;
}

}  // namespace

Expected<Bundle> Bundle::open(const fs::path& path, const std::optional<VerifyKey>& key, bool trusted_only) {
  Bundle bundle;
  bundle.path_ = path;
  auto opened = util::open_file(path);
  if (!opened) return propagate(opened);
  if (trusted_only) {
    if (auto trusted = check_owner(path, opened->file); !trusted) return propagate(trusted);
  }
  auto contents = read_contents(*opened, path);
  if (!contents) return fail(about(path, std::move(contents.error())));
  if (key) {
    if (auto good = check_signature(*contents, *key); !good) {
      return fail(about(path, std::move(good.error())));
    }
  }
  bundle.file_ = std::move(opened->file);
  bundle.contents_ = std::move(*contents);
  return bundle;
}

Expected<Object> Bundle::load(const BundleRow& row) const {
  const std::uint64_t offset = contents_.head().front_bytes() + row.offset;
  const auto blob = util::read_at(file_, offset, static_cast<std::size_t>(row.blob_bytes), path_);
  if (!blob) return propagate(blob);
  auto object = decode_blob(*blob, row);
  if (object) return object;
  Error error = std::move(object.error());
  error.message = fmt::format("entry {}: {}", row.key.hex(), error.message);
  return fail(about(path_, std::move(error)));
}

Expected<Object> Bundle::read(const Key& key) const {
  const auto row = contents_.find(key);
  if (row) return load(*row);
  return fail(ErrorCode::not_found, fmt::format("the bundle {} has no entry {}", path_.native(), key.hex()));
}

Expected<Object> Bundle::read_row(std::uint64_t i) const { return load(contents_.row(i)); }

bool Bundle::exists(const Key& key) const { return contents_.find(key).has_value(); }

Expected<Layer::Listing> Bundle::list() const {
  Listing listing;
  for (std::uint64_t i = 0; i < contents_.size(); ++i) {
    const BundleRow row = contents_.row(i);
    listing.objects.emplace_hint(listing.objects.end(), row.key, static_cast<std::int64_t>(row.object_bytes));
  }
  return listing;
}

}  // namespace cubinet::cache
