// A temporary folder for a test, and helpers for files.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cubinet::test {

// Readable by every user. The destructor removes it with its content, but not in a child of a fork.
class TempFolder {
 public:
  explicit TempFolder(const std::filesystem::path& place = std::filesystem::temp_directory_path())
      : owner_(::getpid()) {
    std::string name = (place / "cubinet-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed for " + name);
    path_ = name;
    std::filesystem::permissions(path_, std::filesystem::perms{0755});
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() {
    std::error_code ignored;
    if (::getpid() == owner_) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
  pid_t owner_;
};

// A folder in memory, for tests in which SQLite syncs a thousand times; the folder for temporary files if there is
// none.
inline std::filesystem::path memory_place() {
  const std::filesystem::path memory = "/dev/shm";
  return ::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
}

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

inline void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline std::size_t count_files(const std::filesystem::path& folder) {
  std::size_t count = 0;
  for (const auto& item : std::filesystem::recursive_directory_iterator(folder)) count += item.is_directory() ? 0 : 1;
  return count;
}

}  // namespace cubinet::test
