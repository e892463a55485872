#include "jit/shipped.hpp"

#include <filesystem>
#include <fstream>

#include "cache/cabinet.hpp"
#include "catch.hpp"
#include "unit/util/temp_folder.hpp"

using namespace cubinet;

TEST_CASE("Kernels are found beside the library and the command of one prefix, and nowhere else") {
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
