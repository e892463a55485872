// Tests of the driver library that the loader finds, and of an engine's start with it.
#include <dlfcn.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "catch.hpp"
#include "cubinet/cubinet.hpp"
#include "jit/driver.hpp"
#include "jit/driver_limit.hpp"
#include "unit/util/failing_memory.hpp"
#include "unit/util/temp_folder.hpp"

using namespace cubinet;

namespace {

// Loads the fake driver with these environment variables. The loader then uses it for `libcuda.so.1`.
struct FakeLibrary {
  FakeLibrary() : handle(dlopen(CUBINET_FAKE_LIBCUDA_DIR "/libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
    REQUIRE(handle != nullptr);
  }
  ~FakeLibrary() {
    for (const char* name : {"FAKE_CUDA_INIT", "FAKE_CUDA_VERSION", "FAKE_CUDA_LOAD"}) unsetenv(name);
  }
  static void set(const char* name, int value) { setenv(name, std::to_string(value).c_str(), 1); }
  void* handle;
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const Problem any_problem{DataType::bf16, Layout::masked, 128, 128, 2};

ServiceOptions options_in(const test::TempFolder& folder) {
  ServiceOptions options;
  options.cache_root = folder / "root";
  options.jobs = 1;
  return options;
}

}  // namespace

TEST_CASE("The driver's path is reported as the loader found it, with the target of a link") {
  const FakeLibrary library;
  const auto driver = jit::Driver::open();
  REQUIRE(driver);
  CHECK((*driver)->path == CUBINET_FAKE_LIBCUDA_DIR "/libcuda.so.1");
  CHECK((*driver)->version() == 13000);
}

TEST_CASE("A start with a toolkit's stub in place of the driver fails with an error that names the stub") {
  const FakeLibrary library;
  FakeLibrary::set("FAKE_CUDA_INIT", 34);
  const test::TempFolder folder;
  const auto started = start(options_in(folder), {{any_problem, {1, 8}}});
  REQUIRE_FALSE(started);
  CHECK(started.error().code == ErrorCode::driver_missing);
  CHECK(contains(started.error().message, CUBINET_FAKE_LIBCUDA_DIR "/libcuda.so.1 is the stub of a CUDA toolkit"));
  CHECK(contains(started.error().message, "LD_LIBRARY_PATH"));
}

TEST_CASE("A start with a driver older than the kernels fails with an error that says so") {
  const FakeLibrary library;
  FakeLibrary::set("FAKE_CUDA_VERSION", 12040);
  const test::TempFolder folder;
  for (const int code : {200, 209, 222}) {  // an invalid image, no binary for the GPU, unsupported PTX
    FakeLibrary::set("FAKE_CUDA_LOAD", code);
    const auto started = start(options_in(folder), {{any_problem, {1, 8}}});
    REQUIRE_FALSE(started);
    if (started.error().code == ErrorCode::compiler_missing) CUBINET_SKIP("there is no NVRTC here");
    INFO(started.error().message);
    CHECK(started.error().code == ErrorCode::wrong_device);
    CHECK(contains(started.error().message, "is too old"));
    CHECK(contains(started.error().message, "CUDA 12.4"));
    CHECK(contains(started.error().detail, "cuLibraryLoadData"));
  }
}

TEST_CASE("An image that a new enough driver refuses is reported with the driver's error code") {
  const FakeLibrary library;
  FakeLibrary::set("FAKE_CUDA_LOAD", 200);
  const test::TempFolder folder;
  const auto started = start(options_in(folder), {{any_problem, {1, 8}}});
  REQUIRE_FALSE(started);
  if (started.error().code == ErrorCode::compiler_missing) CUBINET_SKIP("there is no NVRTC here");
  CHECK(started.error().code == ErrorCode::driver_failed);
  CHECK(contains(started.error().message, "CUDA_ERROR_INVALID_IMAGE"));
}

TEST_CASE("No function that returns a Result throws if memory runs out anywhere in it") {
  if (!test::memory_can_fail) CUBINET_SKIP(test::no_failing_memory);
  const FakeLibrary library;
  const test::TempFolder folder;
  const ServiceOptions options = options_in(folder);
  const std::vector<ProblemRange> problems{{any_problem, {1, 8}}};
  if (const auto warm = start(options, problems); !warm) CUBINET_SKIP(warm.error().message);
  const auto never_throws = [](const auto& act) {
    for (int left = 0;; ++left) {
      bool ok = false;
      ErrorCode code{};
      {
        const test::FailingMemory memory(left);
        const auto answer = act();
        ok = answer.ok();
        if (!ok) code = answer.error().code;
      }
      if (ok) return left;
      INFO("after " << left << " allocations");
      CHECK(code != ErrorCode::invalid_argument);
    }
  };
  CHECK(never_throws([&] { return start(options, problems); }) > 50);
  CHECK(never_throws([&] { return Service::open(options); }) > 10);
  const auto service = Service::open(options);
  REQUIRE(service);
  auto& opened = const_cast<Service&>(service.value());
  const auto gemm = opened.prepare(any_problem, {1, 8});
  REQUIRE(gemm);
  CHECK(never_throws([&] { return opened.prepare(any_problem, {1, 8}); }) > 10);
  CHECK(never_throws([&] { return opened.prepare(problems); }) > 10);
  const MaskedArguments wrong{.capacity = 4, .expected_m = 1};
  int accepted = 0;
  for (int left = 0; left < 8; ++left) {
    const test::FailingMemory memory(left);
    accepted += gemm.value().launch(wrong, nullptr).ok() ? 1 : 0;
    accepted += gemm.value().check_m_indices(nullptr, 1).ok() ? 1 : 0;
  }
  CHECK(accepted == 0);
}
