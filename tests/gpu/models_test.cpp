// Tests of the shapes of the models in examples/.
#include <algorithm>
#include <filesystem>
#include <set>

#include "gpu/gpu.hpp"
#include "jit/families/registry.hpp"
#include "warmup/planning/model.hpp"
#include "warmup/planning/model_problems.hpp"

namespace cubinet::tests {
namespace {

// The distinct problems of all models with operands of this type that the kernels of the type can run. Compiles their
// kernels.
std::vector<Problem> problems_of_models(Gpu& gpu, DataType type, Layout layout) {
  std::vector<Problem> problems;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int32_t>> seen;
  for (const auto& folder : std::filesystem::directory_iterator(source_root() + "/examples/models")) {
    const auto shape = warmup::read_model(folder.path() / "config.json");
    if (!shape) continue;  // a dense model has no experts
    const auto found = warmup::problems_of(*shape, {8, 1}, {layout});
    REQUIRE(found);
    for (Problem p : *found) {
      p.data_type = type;
      if (!jit::families().can_run(p)) continue;  // FP8, and K is not a multiple of 128
      if (seen.emplace(p.n, p.k, p.groups).second) problems.push_back(p);
    }
  }
  gpu.compile_ahead(problems);
  return problems;
}

}  // namespace

TEST_CASE("the shapes of every model are computed correctly in the contiguous layout", "[models]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const auto problems = problems_of_models(gpu, type, Layout::contiguous);
  REQUIRE(problems.size() >= (type == DataType::fp8 ? 14u : 16u));
  Random random(gpu.seed());
  for (const Problem& problem : problems) {
    const auto gemm = gpu.prepare(problem, {1, 16384});
    for (const std::int64_t most : {40, 400}) {
      std::vector<std::int64_t> sizes;
      for (int g = 0; g < problem.groups; ++g) sizes.push_back(random.once_in(5) ? 0 : random.between(1, most));
      const auto plan = contiguous_plan(problem, padded_m_indices(sizes));
      INFO(describe(plan) << " seed " << gpu.seed());
      CHECK(gpu.complaint(gemm, plan) == "");
    }
  }
}

TEST_CASE("the shapes of every model are computed correctly in the masked layout", "[models]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const auto problems = problems_of_models(gpu, type, Layout::masked);
  REQUIRE(problems.size() >= (type == DataType::fp8 ? 14u : 16u));
  Random random(gpu.seed());
  for (const Problem& problem : problems) {
    const auto gemm = gpu.prepare(problem, {1, 16384});
    for (const std::int64_t expected_m : {8, 128, 4096}) {
      std::vector<std::int32_t> counts;
      const std::int64_t most = std::min<std::int64_t>(2 * expected_m, 300);
      for (int g = 0; g < problem.groups; ++g) counts.push_back(static_cast<std::int32_t>(random.between(0, most)));
      const auto plan = masked_plan(problem, counts, 300);
      INFO(describe(plan) << " expected_m " << expected_m << " seed " << gpu.seed());
      CHECK(gpu.complaint(gemm, plan, expected_m) == "");
    }
  }
}

}  // namespace cubinet::tests
