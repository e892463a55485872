#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "catch.hpp"
#include "jit/compiler.hpp"
#include "jit/families/registry.hpp"
#include "jit/sm90/grouped_gemm.hpp"
#include "unit/util/temp_folder.hpp"

using namespace cubinet;

namespace {

jit::NvrtcCompiler& nvrtc() {
  static auto compiler = jit::NvrtcCompiler::open({});
  INFO((compiler ? std::string() : compiler.error().message));
  REQUIRE(compiler);
  return **compiler;
}

// The templates of a small test family.
std::vector<jit::TemplateFile> family(std::string_view text) {
  return {jit::make_template_file("parts/helper.cuh",
                                  "#pragma once\n__device__ inline int twice(int x) { return 2 * x; }\n"),
          jit::make_template_file("parts/middle.cuh", "#pragma once\n#include \"parts/helper.cuh\"\n"),
          jit::make_template_file("small.cuh", text)};
}

constexpr const char* kSmallFamily =
    "#include \"parts/middle.cuh\"\n"
    "extern \"C\" __global__ void small(int* out) {\n"
    "  __shared__ int shared[64];\n"
    "  shared[threadIdx.x] = twice(static_cast<int>(cubinet::constants::kN));\n"
    "  __syncthreads();\n"
    "  out[threadIdx.x] = shared[63 - threadIdx.x];\n"
    "}\n";

// Counts signals with a handler, as an engine may have one.
class CountedSignals {
 public:
  CountedSignals() {
    struct sigaction action {};
    action.sa_handler = [](int) { ++seen; };
    sigaction(SIGINT, &action, &before_[0]);
    sigaction(SIGTERM, &action, &before_[1]);
  }
  ~CountedSignals() {
    sigaction(SIGINT, &before_[0], nullptr);
    sigaction(SIGTERM, &before_[1], nullptr);
  }
  CountedSignals(const CountedSignals&) = delete;
  CountedSignals& operator=(const CountedSignals&) = delete;

  static inline std::atomic<int> seen{0};

 private:
  struct sigaction before_[2]{};
};

// A kernel of the test family.
jit::KernelSpec small_spec(std::int64_t n) {
  static const jit::sm90::GroupedGemm family({.name = "small",
                                              .data_type = DataType::bf16,
                                              .layout = Layout::masked,
                                              .ladder = {{jit::sm90::kNoLimit, {}}},
                                              .generic = {}});
  return family.spec_for(n, 64, {});
}

}  // namespace

TEST_CASE("NVRTC is found, with its version") {
  CHECK(std::filesystem::exists(nvrtc().location().path));
  CHECK(nvrtc().version().find('.') != std::string::npos);
  CHECK_FALSE(nvrtc().version().empty());
}

// Needs a process of its own, which ctest provides: NVRTC replaces signal handlers at a process's first compilation.
TEST_CASE("A signal during the first compilation reaches the process's own handler") {
  const CountedSignals counted;
  std::atomic<bool> over{false};
  int sent = 0;
  std::thread sender([&] {
    while (!over) {
      pthread_kill(pthread_self(), SIGINT);
      pthread_kill(pthread_self(), SIGTERM);
      sent += 2;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  const auto kernel = nvrtc().compile(small_spec(8), family(kSmallFamily));
  over = true;
  sender.join();
  CHECK(kernel);
  CHECK(CountedSignals::seen == sent);
  CHECK(sent > 100);
}

TEST_CASE("A kernel is compiled from headers in memory, and its resources are read") {
  const auto kernel = nvrtc().compile(small_spec(8), family(kSmallFamily));
  REQUIRE(kernel);
  CHECK(kernel->cubin.substr(0, 4) == "\177ELF");
  CHECK(kernel->kernel_names == std::vector<std::string>{"small"});
  CHECK(kernel->resources.registers > 0);
  CHECK(kernel->resources.spill_bytes == 0);
  CHECK(kernel->resources.static_smem_bytes >= 256);
  CHECK(kernel->resources.compile_ms > 0);
}

TEST_CASE("A source that does not compile is an error with the compiler's log") {
  const auto failed = nvrtc().compile(small_spec(8), family("this is no CUDA\n"));
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == ErrorCode::compile_failed);
  CHECK(failed.error().message.find("small N=8 K=64") != std::string::npos);
  CHECK(failed.error().detail.find("small.cuh(1): error") != std::string::npos);
}

TEST_CASE("An impossible configuration of a shipped family fails to compile") {
  const jit::sm90::TileConfig config{.block_tokens = 7, .token_step = 3, .block_columns = 128, .stages = 1};
  const auto failed = nvrtc().compile(jit::sm90::spec_for({DataType::bf16, Layout::masked, 4096, 7168, 1}, config));
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == ErrorCode::compile_failed);
  CHECK(failed.error().detail.find("error") != std::string::npos);
}

TEST_CASE("The compiler's warnings are kept in the log") {
  const std::string text = std::string("#warning cubinet was here\n") + kSmallFamily;
  const auto kernel = nvrtc().compile(small_spec(8), family(text));
  REQUIRE(kernel);
  CHECK(kernel->log.find("cubinet was here") != std::string::npos);
}

TEST_CASE("An unknown architecture is refused before compiling") {
  jit::KernelSpec spec = small_spec(8);
  spec.architecture = "sm_90";
  const auto failed = nvrtc().compile(spec, family(kSmallFamily));
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == ErrorCode::unsupported);
}

TEST_CASE("Two threads compile the same bytes as one thread") {
  constexpr int kKernels = 8;
  std::array<std::string, kKernels> alone;
  std::array<std::string, kKernels> together;
  jit::NvrtcCompiler& compiler = nvrtc();  // contains assertions, which Catch2 allows on one thread only
  const auto compile = [&compiler](int i) {
    const auto kernel = compiler.compile(small_spec(8 * (i + 1)), family(kSmallFamily));
    return kernel ? kernel->cubin : kernel.error().message;
  };
  for (int i = 0; i < kKernels; ++i) alone[static_cast<std::size_t>(i)] = compile(i);
  {
    std::array<std::jthread, 2> threads;
    for (int t = 0; t < 2; ++t) {
      threads[static_cast<std::size_t>(t)] = std::jthread([&, t] {
        for (int i = t; i < kKernels; i += 2) together[static_cast<std::size_t>(i)] = compile(i);
      });
    }
  }
  CHECK(alone == together);
  CHECK(alone[0] != alone[1]);
}

TEST_CASE("A header in the current folder with a template's name is not read") {
  const std::filesystem::path before = std::filesystem::current_path();
  const auto here = nvrtc().compile(small_spec(8), family(kSmallFamily));
  const test::TempFolder elsewhere;
  std::filesystem::create_directories(elsewhere.path() / "parts");
  for (const char* name : {"parts/helper.cuh", "parts/middle.cuh", "small.cuh"}) {
    std::ofstream(elsewhere.path() / name) << "#error read from disk\n";
  }
  std::filesystem::current_path(elsewhere.path());
  const auto there = nvrtc().compile(small_spec(8), family(kSmallFamily));
  std::filesystem::current_path(before);
  REQUIRE(here);
  REQUIRE(there);
  CHECK(here->cubin == there->cubin);
}

TEST_CASE("A folder without NVRTC is skipped, and the first folder with NVRTC is used") {
  const std::filesystem::path folder = std::filesystem::path(nvrtc().location().path).parent_path();
  const auto by_folder = jit::NvrtcCompiler::open({"/nowhere", folder.string()});
  REQUIRE(by_folder);
  CHECK(std::filesystem::path((*by_folder)->location().path).parent_path() == folder);
}

TEST_CASE("A specialization can be compiled to PTX") {
  const auto ptx = nvrtc().compile_to_ptx(jit::families().verification("sm_90a")->spec());
  REQUIRE(ptx);
  CHECK(ptx->find(".target sm_90a") != std::string::npos);
  CHECK(ptx->find('\0') == std::string::npos);
}
