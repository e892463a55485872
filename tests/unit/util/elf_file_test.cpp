#include "util/elf_file.hpp"

#include <dlfcn.h>
#include <elf.h>

#include <cstddef>
#include <cstdlib>

#include "catch.hpp"
#include "temp_folder.hpp"

using namespace cubinet;
using test::TempFolder;

namespace {

// A shared library that every process has loaded: the one with dlopen.
std::filesystem::path some_library() {
  Dl_info info{};
  REQUIRE(dladdr(reinterpret_cast<void*>(&qsort), &info) != 0);
  return info.dli_fname;
}

void check_refused(const std::filesystem::path& file, const std::string& words) {
  const auto checked = util::check_shared_library(file);
  REQUIRE_FALSE(checked);
  INFO(checked.error().message);
  CHECK(checked.error().message.find(file.string() + ": " + words) == 0);
}

}  // namespace

TEST_CASE("A complete shared library is accepted, and so is a link to it") {
  CHECK(util::check_shared_library(some_library()));
  const TempFolder folder;
  std::filesystem::create_symlink(some_library(), folder / "link.so");
  CHECK(util::check_shared_library(folder / "link.so"));
}

TEST_CASE("A library without its last byte counts as truncated") {
  const TempFolder folder;
  const auto file = folder / "library.so";
  std::filesystem::copy_file(some_library(), file);
  const auto whole = std::filesystem::file_size(file);
  for (const auto bytes : {whole - 1, whole / 2, std::uintmax_t{1000}, std::uintmax_t{sizeof(Elf64_Ehdr)}}) {
    std::filesystem::resize_file(file, bytes);
    check_refused(file, "truncated");
  }
}

TEST_CASE(
    "A file that is not a shared library for this machine is refused by name, and so are a folder and a missing file") {
  const TempFolder folder;
  const auto file = folder / "library.so";
  const std::string whole = test::contents(some_library());
  for (const std::size_t at : {std::size_t{0}, std::size_t{EI_CLASS}, offsetof(Elf64_Ehdr, e_machine),
                               offsetof(Elf64_Ehdr, e_type), offsetof(Elf64_Ehdr, e_phentsize)}) {
    std::string other = whole;
    other[at] = '\x7e';
    test::write_file(file, other);
    check_refused(file, "not a shared library for this machine");
  }
  for (const char* text : {"", "\177ELF", "INPUT(libnvrtc.so.13)"}) {
    test::write_file(file, text);
    check_refused(file, "not a shared library for this machine");
  }
  CHECK_FALSE(util::check_shared_library(folder.path()));
  CHECK(util::check_shared_library(folder / "absent").error().code == ErrorCode::not_found);
}

TEST_CASE("A segment or table whose end overflows counts as beyond the end of the file") {
  const TempFolder folder;
  const auto file = folder / "library.so";
  const std::string whole = test::contents(some_library());
  for (const std::size_t at : {offsetof(Elf64_Ehdr, e_phoff), offsetof(Elf64_Ehdr, e_shoff)}) {
    std::string other = whole;
    other.replace(at, 8, std::string(7, '\xff') + '\x7f');
    test::write_file(file, other);
    CHECK_FALSE(util::check_shared_library(file));
  }
}
