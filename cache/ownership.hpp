// Ownership checks for the folders and files that a cabinet trusts. A root in a folder that everybody may write (a
// Kubernetes emptyDir is one) lies in a subfolder of the user's own.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "util/expected.hpp"

namespace cubinet::cache {

// cache_unusable when `path`, or what it leads to, belongs to a user other than the caller and root (unless the caller
// is root), or when everybody may write what it leads to. `target` is the status of what `path` leads to; `what` names
// it in the message, as in "cabinet". A symbolic link is checked as itself and through `target`.
Expected<void> check_trust(const std::filesystem::path& path, const struct stat& target, std::string_view what);

// Returns <folder>/cubinet-<user id> of the calling user, if everybody may write `folder`, and it either holds that
// subfolder already or nothing but such subfolders and lost+found. nullopt: `folder` itself is the cabinet, or is
// refused.
std::optional<std::filesystem::path> own_folder_in(const std::filesystem::path& folder);

// Checks that a folder belongs to the calling user and that nobody else may write it; cache_unusable with the reason.
// Does not follow a link. Others may replace the folder at any time, so files in it are read by util::read_own_file.
Expected<void> check_own_folder(const std::filesystem::path& folder);

// The notice that the cabinet is a subfolder: "/kernels can be written by everybody: the cabinet is its subfolder
// cubinet-1000, which is this user's alone".
std::string own_folder_notice(const std::filesystem::path& own);

// Whether `path` is the folder lost+found at the top of a file system. A folder that holds only this counts as empty.
bool is_lost_and_found(const std::filesystem::path& path);

}  // namespace cubinet::cache
