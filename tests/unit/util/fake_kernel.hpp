// A folder with proc/ and sys/ that a test fills.
#pragma once

#include <string>
#include <string_view>

#include "unit/util/temp_folder.hpp"

namespace cubinet::test {

class FakeKernel {
 public:
  // Writes a file, and creates its folders: "proc/meminfo".
  void write(std::string_view name, std::string_view text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    write_file(folder_ / name, text);
  }
  [[nodiscard]] const std::filesystem::path& root() const { return folder_.path(); }
  [[nodiscard]] std::filesystem::path path(std::string_view name) const { return folder_ / name; }

 private:
  TempFolder folder_;
};

}  // namespace cubinet::test
