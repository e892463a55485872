#include "jit/shipped.hpp"

#include <filesystem>
#include <fstream>

#include "cache/cabinet.hpp"
#include "catch.hpp"
#include "unit/util/temp_folder.hpp"

using namespace cubinet;

TEST_CASE("Shipped kernels are found relative to the library and the command, and nowhere else") {
  const test::TempFolder folder;
  const auto prefix = folder.path() / "usr";
  const auto kernels = prefix / "share" / "cubinet" / "kernels";
  for (const char* binary : {"bin/cubinet", "lib/libcubinet.so.0", "lib/x86_64-linux-gnu/libcubinet.so.0"}) {
    std::filesystem::create_directories((prefix / binary).parent_path());
    std::ofstream(prefix / binary) << "code";
    CHECK(jit::shipped_kernels(prefix / binary).empty());
  }
  std::filesystem::create_directories(kernels.parent_path());
  REQUIRE(cache::Cabinet::open(kernels, true));
  for (const char* binary : {"bin/cubinet", "lib/libcubinet.so.0", "lib/x86_64-linux-gnu/libcubinet.so.0"}) {
    CHECK(std::filesystem::equivalent(jit::shipped_kernels(prefix / binary), kernels));
  }
  CHECK(jit::shipped_kernels(prefix / "bin" / "not-there").empty());
  CHECK(jit::shipped_kernels("").empty());
}

TEST_CASE(
    "The compile worker is found from the library and the command, installed, in a wheel and in the build folder") {
  for (const auto& [binary, worker] : {std::pair{"bin/cubinet", "libexec/cubinet"},
                                       {"lib/libcubinet.so.0", "libexec/cubinet"},
                                       {"lib/x86_64-linux-gnu/libcubinet.so.0", "libexec/cubinet"},
                                       {"lib/libcubinet.so.0", "bin"},
                                       {"bin/cubinet", "bin"}}) {
    const test::TempFolder folder;
    const auto prefix = std::filesystem::canonical(folder.path()) / "usr";
    std::filesystem::create_directories((prefix / binary).parent_path());
    std::ofstream(prefix / binary) << "code";
    CHECK(jit::shipped_worker(prefix / binary).empty());
    std::filesystem::create_directories(prefix / worker);
    std::ofstream(prefix / worker / "cubinet-compile-worker") << "code";
    CHECK(jit::shipped_worker(prefix / binary) == (prefix / worker / "cubinet-compile-worker").string());
  }
  CHECK(jit::shipped_worker("/nowhere/bin/cubinet").empty());
}

TEST_CASE("An executable finds the worker beside it, whatever the current folder") {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path("/");
  CHECK(std::filesystem::exists(jit::shipped_worker()));
  std::filesystem::current_path(before);
}
