// Tests of capture into a CUDA graph and of replay.
#include <algorithm>

#include "gpu/gpu.hpp"

namespace cubinet::tests {
namespace {

using Graph = warmup::DeviceHandle<CUgraph, &jit::Driver::cuGraphDestroy>;
using GraphExec = warmup::DeviceHandle<CUgraphExec, &jit::Driver::cuGraphExecDestroy>;

// A captured launch of the plan of the verifier.
GraphExec capture(Gpu& gpu, const GroupedGemm& gemm, std::int64_t expected_m, ScaleOrder order) {
  const auto& driver = gpu.driver();
  const CUstream stream = gpu.verifier().stream();
  REQUIRE(driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CUDA_SUCCESS);
  const auto launched = launch(gemm, gpu.verifier(), expected_m, stream, order);
  CUgraph graph = nullptr;
  REQUIRE(driver.cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
  const Graph owner(driver, graph);
  REQUIRE(launched);
  CUgraphExec executable = nullptr;
  REQUIRE(driver.cuGraphInstantiateWithFlags(&executable, graph, 0) == CUDA_SUCCESS);
  return GraphExec(driver, executable);
}

std::string replay(Gpu& gpu, const GraphExec& graph) {
  const auto verdict = gpu.verifier().run("a replay", [&](CUstream stream) {
    return gpu.driver().check(gpu.driver().cuGraphLaunch(graph.get(), stream), "cuGraphLaunch");
  });
  return verdict ? verdict->complaint : verdict.error().message;
}

void check_contiguous(Gpu& gpu, const GroupedGemm& gemm, ScaleOrder order) {
  const Problem problem = gemm.problem();
  std::vector<std::int32_t> m_indices = padded_m_indices({200, 0, 300});
  REQUIRE(gpu.verifier().load(contiguous_plan(problem, m_indices)));
  const auto graph = capture(gpu, gemm, 1, order);
  CHECK(replay(gpu, graph) == "");
  CHECK(replay(gpu, graph) == "");
  std::fill(m_indices.begin(), m_indices.begin() + 128, 1);
  std::fill(m_indices.begin() + 300, m_indices.end(), -1);
  REQUIRE(gpu.verifier().change_rows(contiguous_plan(problem, m_indices)));
  CHECK(replay(gpu, graph) == "");
}

void check_masked(Gpu& gpu, const GroupedGemm& gemm, std::int64_t expected_m, ScaleOrder order) {
  const Problem problem = gemm.problem();
  REQUIRE(gpu.verifier().load(masked_plan(problem, {10, 0, 3, 64}, 333)));
  const auto graph = capture(gpu, gemm, expected_m, order);
  CHECK(replay(gpu, graph) == "");
  for (const auto& counts : std::vector<std::vector<std::int32_t>>{{0, 0, 0, 0}, {333, 1, 129, 0}, {0, 333, 0, 332}}) {
    REQUIRE(gpu.verifier().change_rows(masked_plan(problem, counts, 333)));
    CHECK(replay(gpu, graph) == "");
  }
}

}  // namespace

TEST_CASE("a replay of a captured contiguous launch is correct, also with other m_indices", "[graphs]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const auto gemm = gpu.prepare({type, Layout::contiguous, 1032, 512, 3}, {1, 8192});
  for (const ScaleOrder order : orders(type)) {
    INFO(name(order) << " scales");
    check_contiguous(gpu, gemm, order);
  }
}

TEST_CASE("masked_m may change between replays of a captured launch", "[graphs]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const Problem problem{type, Layout::masked, 1032, 512, 4};
  const auto gemm = gpu.prepare(problem, {1, kLargestM});
  for (const std::int64_t expected_m : selecting_ms(problem)) {
    for (const ScaleOrder order : orders(type)) {
      INFO("expected_m " << expected_m << ", " << name(order) << " scales");
      check_masked(gpu, gemm, expected_m, order);
    }
  }
}

}  // namespace cubinet::tests
