#include "jit/driver_limit.hpp"

#include "catch.hpp"
#include "fake_driver.hpp"

using namespace cubinet;

TEST_CASE("A driver loads what compilers of its own CUDA major version and of earlier ones made") {
  for (const int driver : {13000, 13020, 14000}) CHECK(jit::loads(driver, "13.0.88"));
  CHECK(jit::loads(13000, "13.4.1"));
  CHECK(jit::loads(12000, "12.9.86"));
  CHECK(jit::loads(13000, "12.9"));
  for (const int driver : {12000, 12080, 12090, 11080}) CHECK_FALSE(jit::loads(driver, "13.0.88"));
  CHECK_FALSE(jit::loads(13020, "14.0.1"));
}

TEST_CASE("With an unknown driver or compiler version an entry counts as loadable") {
  CHECK(jit::loads(0, "13.0.88"));
  CHECK(jit::loads(12040, ""));
}

TEST_CASE("The error for a driver that is too old advises a newer driver or an older NVRTC") {
  const auto fake = test::make_fake_driver();
  jit::Driver driver = *fake;
  driver.path = "/usr/lib/libcuda.so.1";
  driver.cuDriverGetVersion = [](int* version) { return *version = 12040, CUDA_SUCCESS; };
  CHECK(jit::check_driver_limit(driver, "12.9.86"));
  const auto refused = jit::check_driver_limit(driver, "13.0.88");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::wrong_device);
  for (const char* said : {"/usr/lib/libcuda.so.1", "too old", "CUDA 12.4", "NVRTC 13.0.88", "580",
                           "nvidia-cuda-nvrtc-cu12==12.9.86", "CUBINET_NVRTC_DIR"}) {
    INFO(refused.error().message);
    CHECK(refused.error().message.find(said) != std::string::npos);
  }
  CHECK(jit::driver_limit_advice(11080, "13.0").find("nvrtc") == std::string::npos);
}

TEST_CASE("The compiler is read from the cubin, and is unknown if the cubin does not name it") {
  const std::string image =
      std::string("ELF") + '\0' + "Cuda compilation tools, release 13.0, V13.0.88" + '\0' + "rest";
  CHECK(jit::compiler_of_cubin(image) == "13.0.88");
  for (const char* text : {"", "ELF", "Cuda compilation tools, release ", "Cuda compilation tools, release 13.0, V"}) {
    CHECK(jit::compiler_of_cubin(text).empty());
  }
}
