#include "jit/driver.hpp"

#include <dlfcn.h>

#include "catch.hpp"
#include "fake_driver.hpp"

using namespace cubinet;

TEST_CASE("Without a CUDA driver the error names what was tried and what to do") {
  if (void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
    dlclose(library);
    CUBINET_SKIP("this machine has a CUDA driver");
  }
  const auto driver = jit::Driver::open();
  REQUIRE_FALSE(driver);
  CHECK(driver.error().code == ErrorCode::driver_missing);
  CHECK(driver.error().message.find("libcuda.so.1") != std::string::npos);
  CHECK(driver.error().message.find("install the NVIDIA driver") != std::string::npos);
  CHECK(driver.error().detail.find("libcuda.so: ") != std::string::npos);
}

TEST_CASE("A failed driver call is an error with the driver's name and text for it") {
  const auto driver = test::make_fake_driver();
  CHECK(driver->check(CUDA_SUCCESS, "cuMemAlloc"));
  const auto failed = driver->check(CUDA_ERROR_OUT_OF_MEMORY, "cuMemAlloc of 8 bytes");
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == ErrorCode::driver_failed);
  CHECK(failed.error().message == "cuMemAlloc of 8 bytes failed: CUDA_ERROR_FAKE (made up)");
}

TEST_CASE("A device number that does not exist is refused with the number of devices") {
  const auto driver = test::make_fake_driver();
  for (const int ordinal : {-1, 1}) {
    const auto context = jit::DeviceContext::retain(driver, ordinal);
    REQUIRE_FALSE(context);
    CHECK(context.error().code == ErrorCode::driver_missing);
    CHECK(context.error().message.find("device " + std::to_string(ordinal)) != std::string::npos);
    CHECK(context.error().message.find("sees 1") != std::string::npos);
  }
  CHECK(test::fake_device().retained == 0);
}

TEST_CASE("A device context describes its device and is released once, however often it is moved") {
  {
    auto first = jit::DeviceContext::retain(test::make_fake_driver(), 0);
    REQUIRE(first);
    jit::DeviceContext second = std::move(*first);
    CHECK(second.info().name == "Fake GPU");
    CHECK(second.info().num_sms == 132);
    CHECK(second.info().compute_major == 9);
    CHECK(second.info().total_bytes == 1u << 30);
    CHECK(test::fake_device().retained == 1);
  }
  CHECK(test::fake_device().retained == 0);
}

TEST_CASE("CurrentContext makes a context current until the end of its scope") {
  const auto context = test::make_fake_context();
  {
    const jit::CurrentContext current(*context);
    CHECK(current.status());
    CHECK(test::fake_device().current == test::fake_context());
  }
  CHECK(test::fake_device().current == nullptr);
  CHECK(test::fake_device().pops == 1);
}

TEST_CASE("A context that is already current is not changed") {
  const auto context = test::make_fake_context();
  test::fake_device().current = test::fake_context();
  { const jit::CurrentContext current(*context); }
  CHECK(test::fake_device().pushes == 0);
  CHECK(test::fake_device().current == test::fake_context());
}
