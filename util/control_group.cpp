#include "util/control_group.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace cubinet::util {
namespace {

namespace fs = std::filesystem;

// What stands before the next `end`, which is dropped together with it from `text`; all of it where there is none.
std::string_view take(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view front = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return front;
}

// "cpu,cpuacct" names "cpu"; the empty list of version 2 names the empty hierarchy alone.
bool names(std::string_view controllers, std::string_view hierarchy) {
  if (controllers.empty()) return hierarchy.empty();
  while (!controllers.empty()) {
    if (take(controllers, ',') == hierarchy) return !hierarchy.empty();
  }
  return false;
}

bool leaves_the_root(const fs::path& group) { return std::find(group.begin(), group.end(), "..") != group.end(); }

void add_upwards(std::vector<fs::path>& folders, const fs::path& mounted, fs::path group) {
  for (;; group = group.parent_path()) {
    folders.push_back(mounted / group.relative_path());
    if (!group.has_relative_path()) return;
  }
}

}  // namespace

std::string group_path(std::string_view text, std::string_view hierarchy) {
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    take(line, ':');  // the hierarchy's number
    if (!names(take(line, ':'), hierarchy)) continue;
    return line.starts_with('/') && !leaves_the_root(line) ? std::string(line) : "/";
  }
  return "/";
}

std::vector<fs::path> group_folders(std::string_view hierarchy, const fs::path& root) {
  const fs::path mounts = root / "sys/fs/cgroup";
  const fs::path group = group_path(kernel_text(root / "proc/self/cgroup"), hierarchy);
  std::vector<fs::path> folders;
  if (hierarchy == unified_hierarchy) {
    add_upwards(folders, mounts / "unified", group);  // where version 1 is mounted beside it
    add_upwards(folders, mounts, group);
  } else {
    add_upwards(folders, mounts / hierarchy, group);
  }
  return folders;
}

std::string kernel_text(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace cubinet::util
