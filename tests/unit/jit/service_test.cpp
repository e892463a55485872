#include <dlfcn.h>

#include <filesystem>

#include "catch.hpp"
#include "cubinet/cubinet.hpp"
#include "unit/util/temp_folder.hpp"

using namespace cubinet;

TEST_CASE("Without a CUDA driver opening a service is an error, and no folder is created") {
  if (void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
    dlclose(library);
    CUBINET_SKIP("this machine has a CUDA driver");
  }
  const test::TempFolder folder;
  ServiceOptions options;
  options.cache_root = folder.path() / "root";
  const auto service = Service::open(options);
  REQUIRE_FALSE(service.ok());
  CHECK(service.error().code == ErrorCode::driver_missing);
  CHECK_FALSE(std::filesystem::exists(options.cache_root));
}

TEST_CASE("value() of a failed result throws an exception with the error's message") {
  Result<int> failed(Error{ErrorCode::io, "the disk is gone", ""});
  CHECK_THROWS_WITH(failed.value(), "the disk is gone");
  CHECK(Result<int>(4).value() == 4);
}
