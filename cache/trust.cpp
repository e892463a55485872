#include "cache/trust.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "util/files.hpp"

namespace cubinet::cache {
namespace {

bool trusted_owner(const struct stat& status) {
  const uid_t caller = ::geteuid();
  return status.st_uid == caller || status.st_uid == 0 || caller == 0;
}

// Who may not change a folder can still have one of their own in it.
std::string mend(const std::filesystem::path& path, const struct stat& target) {
  const uid_t caller = ::geteuid();
  const bool may_change = caller == 0 || caller == target.st_uid;
  if (may_change || !S_ISDIR(target.st_mode)) return "chmod o-w " + path.native();
  return fmt::format("name a folder of your own in it, as {}", (path / "cubinet").native());
}

}  // namespace

Expected<void> check_trust(const std::filesystem::path& path, const struct stat& target, std::string_view what) {
  struct stat link {};
  if (::lstat(path.c_str(), &link) != 0) {
    return fail(ErrorCode::cache_unusable, util::system_message(fmt::format("examine the {}", what), path, errno));
  }
  if (!trusted_owner(link) || !trusted_owner(target)) {
    return fail(ErrorCode::cache_unusable,
                fmt::format("the {} {} belongs to user {}: choose one of your own, or of root", what, path.native(),
                            trusted_owner(link) ? target.st_uid : link.st_uid));
  }
  if ((target.st_mode & S_IWOTH) != 0) {
    return fail(ErrorCode::cache_unusable,
                fmt::format("the {} {} can be written by everybody: {}", what, path.native(), mend(path, target)));
  }
  return {};
}

}  // namespace cubinet::cache
