// The control groups that bind this process, as both versions of the kernel's interface show them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet::util {

// The hierarchy that holds a process in version 2. In version 1 each controller has its own: "cpu", "memory".
inline constexpr std::string_view unified_hierarchy;

// The group that a text in the form of /proc/self/cgroup names for a hierarchy, as an absolute path. "/" when it names
// none, or one outside of what the process can see ("/../x"). Pure.
std::string group_path(std::string_view text, std::string_view hierarchy);

// The folders of the process's group and of each above it, the innermost first: a limit binds everything below its
// group. A folder may be missing: inside a container the path can be the host's, and then only the last one, the root
// of what is mounted, is there. `root` is the folder that holds proc/ and sys/.
std::vector<std::filesystem::path> group_folders(std::string_view hierarchy, const std::filesystem::path& root = "/");

// All of a small file of the kernel's, whose size is not told beforehand; empty when it cannot be read.
std::string kernel_text(const std::filesystem::path& file);

}  // namespace cubinet::util
