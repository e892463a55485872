// Compiles every kernel that can be selected for some shapes of real models.
#include <set>

#include "catch.hpp"
#include "jit/compiler.hpp"
#include "jit/families/registry.hpp"
#include "jit/kernel_spec.hpp"
#include "jit/sm90/grouped_gemm.hpp"
#include "util/machine.hpp"
#include "util/threads.hpp"

using namespace cubinet;

namespace {

std::vector<jit::KernelSpec> selected_kernels() {
  const std::vector<Problem> problems = {
      {.layout = Layout::contiguous, .n = 4096, .k = 7168, .groups = 32},
      {.layout = Layout::masked, .n = 4096, .k = 7168, .groups = 32},
      // N is not a multiple of the tile.
      {.layout = Layout::contiguous, .n = 2120, .k = 512, .groups = 8},
      {.layout = Layout::masked, .n = 704, .k = 192, .groups = 1},
      // A single block of K.
      {.layout = Layout::contiguous, .n = 8, .k = 64, .groups = 4},
      {.layout = Layout::masked, .n = 704, .k = 64, .groups = 4},
      {DataType::fp8, Layout::contiguous, 4096, 7168, 32},
      {DataType::fp8, Layout::masked, 4096, 7168, 32},
      // Tiles that overlap two blocks of scales, N that is not a multiple of a block, and a single block of K.
      {DataType::fp8, Layout::contiguous, 2112, 512, 8},
      {DataType::fp8, Layout::masked, 576, 128, 4},
  };
  std::set<jit::KernelSpec> specs;
  for (const Problem& problem : problems) {
    for (const auto& selection : jit::families().selections(problem, {1, 131072})) {
      specs.insert(selection.spec);
    }
  }
  return {specs.begin(), specs.end()};
}

}  // namespace

TEST_CASE("Every selected kernel compiles without spills and without serialized matrix instructions") {
  auto nvrtc = jit::NvrtcCompiler::open({});
  REQUIRE(nvrtc);
  const auto specs = selected_kernels();
  REQUIRE(specs.size() >= 6);
  std::vector<Expected<jit::CompiledKernel>> kernels(specs.size());
  util::parallel_for(specs.size(), util::usable_cores(),
                     [&](std::size_t i) { kernels[i] = (*nvrtc)->compile(specs[i]); });
  for (std::size_t i = 0; i < specs.size(); ++i) {
    INFO(specs[i].family_name() << " n " << specs[i].n << " k " << specs[i].k << " " << specs[i].config);
    const auto& kernel = kernels[i];
    INFO((kernel ? kernel->log : kernel.error().message + "\n" + kernel.error().detail));
    REQUIRE(kernel);
    CHECK(kernel->resources.spill_bytes == 0);
    CHECK(kernel->resources.registers * jit::sm90::threads_per_cta(jit::sm90::config_of(specs[i])) <= 65536);
    CHECK(kernel->log.find("C75") == std::string::npos);
    CHECK(kernel->kernel_names == std::vector<std::string>{specs[i].family_name()});
    // The limit for a CTA on compute capability 9.0.
    CHECK(kernel->resources.static_smem_bytes + jit::sm90::dynamic_smem_bytes(jit::sm90::config_of(specs[i])) <=
          227 * 1024);
  }
}

TEST_CASE("The verification and quantization kernels compile without spills") {
  auto nvrtc = jit::NvrtcCompiler::open({});
  REQUIRE(nvrtc);
  for (const auto& spec :
       {jit::families().verification("sm_90a")->spec(), jit::families().quantization("sm_90a")->spec()}) {
    const auto kernel = (*nvrtc)->compile(spec);
    INFO(spec.family_name() << (kernel ? kernel->log : kernel.error().detail));
    REQUIRE(kernel);
    CHECK(kernel->resources.spill_bytes == 0);
    CHECK(kernel->kernel_names.size() > 1);
  }
}

TEST_CASE("The quantization template has the entry points that the host uses") {
  auto nvrtc = jit::NvrtcCompiler::open({});
  REQUIRE(nvrtc);
  const auto kernel = (*nvrtc)->compile(jit::families().quantization("sm_90a")->spec());
  REQUIRE(kernel);
  const std::set<std::string> names(kernel->kernel_names.begin(), kernel->kernel_names.end());
  CHECK(names == std::set<std::string>{"fp8_quantize_rows", "fp8_quantize_weights", "fp8_transpose_scales"});
  // At least two CTAs of 256 threads on an SM, so that the loads of one hide the arithmetic of the other.
  CHECK(kernel->resources.registers <= 128);
}
