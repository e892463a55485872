// Tests of concurrent launches.
#include "gpu/gpu.hpp"

namespace cubinet::tests {
namespace {

// Poisons both outputs, puts `launches` launches on each stream in turn, waits for both streams, and judges both
// outputs. If there are scales, those of the second stream are row-major.
void check_together(test::Verifier& one, const GroupedGemm& gemm_one, test::Verifier& two, const GroupedGemm& gemm_two,
                    int launches) {
  REQUIRE(one.poison());
  REQUIRE(two.poison());
  for (int i = 0; i < launches; ++i) {
    REQUIRE(launch(gemm_one, one, 16, one.stream()));
    REQUIRE(launch(gemm_two, two, 200, two.stream(), ScaleOrder::row_major));
  }
  REQUIRE(one.wait("first stream"));
  REQUIRE(two.wait("second stream"));
  const auto first = one.judge();
  REQUIRE(first);
  CHECK(first->complaint == "");
  const auto second = two.judge();
  REQUIRE(second);
  CHECK(second->complaint == "");
}

}  // namespace

TEST_CASE("one prepared problem runs on two streams concurrently", "[streams]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  auto other = gpu.make_verifier();
  const Problem problem{type, Layout::contiguous, 1536, 1024, 4};
  const auto gemm = gpu.prepare(problem, {1, 8192});
  for (const std::int64_t rows : {90, 500}) {
    REQUIRE(gpu.verifier().load(contiguous_plan(problem, padded_m_indices({rows, 1, 0, 2 * rows}))));
    REQUIRE(other.load(contiguous_plan(problem, padded_m_indices({rows, rows, rows, 77}))));
    check_together(gpu.verifier(), gemm, other, gemm, 20);
  }
}

TEST_CASE("problems of both layouts run on two streams concurrently", "[streams]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  auto other = gpu.make_verifier();
  const Problem contiguous{type, Layout::contiguous, 2048, 768, 4};
  const Problem masked{type, Layout::masked, 2048, 768, 4};
  REQUIRE(gpu.verifier().load(contiguous_plan(contiguous, padded_m_indices({300, 1, 0, 222}))));
  REQUIRE(other.load(masked_plan(masked, {5, 0, 300, 129}, 301)));
  check_together(gpu.verifier(), gpu.prepare(contiguous, {1, 8192}), other, gpu.prepare(masked, {1, 4096}), 20);
}

}  // namespace cubinet::tests
