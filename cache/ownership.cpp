#include "cache/ownership.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "cache/layout.hpp"
#include "util/files.hpp"

namespace cubinet::cache {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "cubinet-";

bool is_own_folder_name(std::string_view name) {
  if (!name.starts_with(prefix) || name.size() == prefix.size()) return false;
  name.remove_prefix(prefix.size());
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool trusted_owner(const struct stat& status) {
  const uid_t caller = ::geteuid();
  return status.st_uid == caller || status.st_uid == 0 || caller == 0;
}

// Advice for the user. A user who may not change the folder's mode can create a folder in it.
std::string remedy_for(const fs::path& path, const struct stat& target) {
  const uid_t caller = ::geteuid();
  const bool may_change = caller == 0 || caller == target.st_uid;
  if (may_change || !S_ISDIR(target.st_mode)) return "chmod o-w " + path.native();
  return fmt::format("name a folder of your own in it, as {}", (path / "cubinet").native());
}

}  // namespace

Expected<void> check_trust(const fs::path& path, const struct stat& target, std::string_view what) {
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
    return fail(ErrorCode::cache_unusable, fmt::format("the {} {} can be written by everybody: {}", what, path.native(),
                                                       remedy_for(path, target)));
  }
  return {};
}

std::optional<fs::path> own_folder_in(const fs::path& folder) {
  struct stat status {};
  const bool open_to_all =
      ::stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && (status.st_mode & S_IWOTH) != 0;
  if (!open_to_all) return std::nullopt;
  fs::path own = folder / fmt::format("{}{}", prefix, ::geteuid());
  if (is_there(own)) return own;
  const auto names = names_in(folder);
  const bool is_free = names && std::all_of(names->begin(), names->end(), [&](const std::string& name) {
                         return is_own_folder_name(name) || is_lost_and_found(folder / name);
                       });
  return is_free ? std::optional(std::move(own)) : std::nullopt;
}

Expected<void> check_own_folder(const fs::path& folder) {
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) {
    return fail(ErrorCode::cache_unusable, util::system_message("examine the cabinet", folder, errno));
  }
  const bool own = S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
  if (own && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  if (own) {
    return fail(ErrorCode::cache_unusable,
                fmt::format("the cabinet {0} can be written by others: chmod go-w {0}", folder.native()));
  }
  return fail(
      ErrorCode::cache_unusable,
      fmt::format("{} should be the cabinet of user {}, but belongs to user {} or is not a folder: somebody who "
                  "may write in {} has put it there. Remove it, or name another folder",
                  folder.native(), ::geteuid(), status.st_uid, folder.parent_path().native()));
}

std::string own_folder_notice(const fs::path& own) {
  return fmt::format("{} can be written by everybody: the cabinet is its subfolder {}, which is this user's alone",
                     own.parent_path().native(), own.filename().native());
}

bool is_lost_and_found(const fs::path& path) { return path.filename() == "lost+found" && is_folder(path); }

}  // namespace cubinet::cache
