// Tests that the values of padding rows and of their scales do not affect valid rows.
#include "gpu/gpu.hpp"

namespace cubinet::tests {
namespace {

// Runs the plan with NaN and huge values in padding rows and again with zeros there. The valid rows must be
// bit-identical. The verdict tells whether anything outside them is written.
void check_padding(Gpu& gpu, const warmup::RowPlan& plan, ScaleOrder order) {
  auto& verifier = gpu.verifier();
  const auto gemm = gpu.prepare(plan.problem, {1, 8192});
  const auto run = [&](CUstream stream) { return launch(gemm, verifier, 16, stream, order); };
  REQUIRE(verifier.load(plan));
  const auto spoiled = verifier.run("spoiled padding", run);
  REQUIRE(spoiled);
  CHECK(spoiled->complaint == "");
  REQUIRE(verifier.set_output_aside());
  REQUIRE(verifier.change_padding(warmup::Garbage::zeros));
  const auto zeroed = verifier.run("zeros in the padding", run);
  REQUIRE(zeroed);
  CHECK(zeroed->complaint == "");
  const auto differences = verifier.count_differences();
  REQUIRE(differences);
  CHECK(*differences == 0u);
}

}  // namespace

TEST_CASE("NaN and huge values in padding rows change no bit of a valid row", "[padding]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  auto m_indices = padded_m_indices({1, 0, 100, 129, 64, 300});
  m_indices.resize(m_indices.size() - 1);  // an M for which columns of scales are padded
  const Problem problem{type, Layout::contiguous, 264, 5 * depth(type), 6};
  for (const ScaleOrder order : orders(type)) {
    INFO(name(order) << " scales");
    check_padding(gpu, contiguous_plan(problem, m_indices), order);
  }
}

TEST_CASE("NaN and huge values beyond masked_m change no bit of a valid row", "[padding]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const Problem problem{type, Layout::masked, 264, 5 * depth(type), 6};
  for (const ScaleOrder order : orders(type)) {
    INFO(name(order) << " scales");
    check_padding(gpu, masked_plan(problem, {1, 0, 100, 129, 64, 7}, 130), order);
  }
}

}  // namespace cubinet::tests
