// A cabinet in a folder that everybody may write, as a Kubernetes emptyDir is: it lies in a subfolder of the user's
// own.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "util/expected.hpp"

namespace cubinet::cache {

// <folder>/cubinet-<user id> of the calling user, where `folder` can be written by everybody and holds nothing but such
// subfolders and lost+found, or holds this user's already. Nothing: the folder itself is to be the cabinet, or refused.
std::optional<std::filesystem::path> own_folder_in(const std::filesystem::path& folder);

// Whether a folder is the calling user's and nobody else may write in it; cache_unusable with the reason. Follows no
// link. Others may put another folder in its place at any time: files in it are read by util::read_own_file.
Expected<void> check_own_folder(const std::filesystem::path& folder);

// "/kernels can be written by everybody: the cabinet is in its subfolder cubinet-1000, which is this user's alone"
std::string own_folder_notice(const std::filesystem::path& own);

// Whether an entry of a folder that is a file system of its own, lost+found, which is nobody's doing.
bool is_lost_and_found(const std::filesystem::path& path);

}  // namespace cubinet::cache
