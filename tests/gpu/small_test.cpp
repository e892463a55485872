// Small problems that select every configuration, for runs under compute-sanitizer.
#include <algorithm>

#include "gpu/gpu.hpp"
#include "jit/families/registry.hpp"
#include "jit/kernel.hpp"
#include "jit/provide.hpp"

namespace cubinet::tests {

namespace {

// With only 2 CTAs each CTA computes many tiles and reuses its pipeline stages and tile slots. On all SMs a small
// problem gives each CTA at most one tile.
constexpr int kFewCtas = 2;

std::shared_ptr<const jit::GemmKernel> load(Gpu& gpu, const Problem& problem, std::int64_t m) {
  auto& session = gpu.session();
  const auto spec = jit::families().select(problem, m);
  const auto provided = jit::provide(spec, *session.compiler, session.cabinet_or_null());
  if (!provided) throw std::runtime_error(provided.error().message);
  auto kernel = jit::load_kernel<jit::GemmKernel>(session.device, spec, provided->object.payload);
  if (!kernel) throw std::runtime_error(kernel.error().message);
  return std::move(*kernel);
}

std::string complaint_of_few_ctas(Gpu& gpu, const warmup::RowPlan& plan, std::int64_t m) {
  const auto kernel = load(gpu, plan.problem, m);
  auto& verifier = gpu.verifier();
  const auto launch = [&](CUstream stream) {
    auto arguments = plan.problem.layout == Layout::contiguous
                         ? jit::gemm_arguments(plan.problem, verifier.contiguous_arguments())
                         : jit::gemm_arguments(plan.problem, verifier.masked_arguments(m));
    arguments.num_sms = kFewCtas;
    return kernel->launch(plan.problem, arguments, stream);
  };
  const auto verdict = gpu.verifier().load(plan).and_then([&] { return gpu.verifier().run(describe(plan), launch); });
  return verdict ? verdict->complaint : verdict.error().message;
}

}  // namespace

TEST_CASE("small contiguous problems are computed correctly by every configuration", "[small]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const Problem problem{type, Layout::contiguous, 392, 3 * depth(type), 2};
  const auto gemm = gpu.prepare(problem, {1, kLargestM});
  for (const std::int64_t m : selecting_ms(problem)) {
    auto m_indices = padded_m_indices({65, 130});
    // Padding rows raise M, which selects the configuration, but need no computation.
    m_indices.resize(std::max(m_indices.size(), static_cast<std::size_t>(m)), -1);
    INFO("M " << m_indices.size());
    CHECK(gpu.complaint(gemm, contiguous_plan(problem, m_indices)) == "");
  }
}

TEST_CASE("small masked problems are computed correctly by every configuration", "[small]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const Problem problem{type, Layout::masked, 392, 3 * depth(type), 3};
  const auto gemm = gpu.prepare(problem, {1, kLargestM});
  const auto plan = masked_plan(problem, {17, 0, 131}, 133);
  for (const std::int64_t expected_m : selecting_ms(problem)) {
    INFO("expected_m " << expected_m);
    CHECK(gpu.complaint(gemm, plan, expected_m) == "");
  }
}

TEST_CASE("CTAs that reuse stages and slots for further tiles compute correctly", "[small]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const Problem contiguous{type, Layout::contiguous, 1160, 3 * depth(type), 2};
  for (const std::int64_t m : selecting_ms(contiguous)) {
    INFO("M " << m);
    CHECK(complaint_of_few_ctas(gpu, contiguous_plan(contiguous, padded_m_indices({65, 130})), m) == "");
  }
  const Problem masked{type, Layout::masked, 1160, 3 * depth(type), 3};
  for (const std::int64_t expected_m : selecting_ms(masked)) {
    INFO("expected_m " << expected_m);
    CHECK(complaint_of_few_ctas(gpu, masked_plan(masked, {17, 0, 131}, 133), expected_m) == "");
  }
}

}  // namespace cubinet::tests
