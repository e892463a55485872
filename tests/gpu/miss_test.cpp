// Tests of an engine whose kernels are missing, on a device.
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "cache/bundle_transfer.hpp"
#include "gpu/gpu.hpp"
#include "jit/families/registry.hpp"
#include "jit/kernel.hpp"
#include "jit/provide.hpp"
#include "unit/cache/support.hpp"
#include "warmup/campaign/runner.hpp"
#include "warmup/planning/plan.hpp"

namespace cubinet::tests {
namespace {

// A root, empty at first. The destructor removes it.
class FreshRoot {
 public:
  FreshRoot() : path_(std::filesystem::temp_directory_path() / fmt::format("cubinet-miss-{}-{}", getpid(), ++made_)) {
    std::filesystem::remove_all(path_);
  }
  ~FreshRoot() { std::filesystem::remove_all(path_); }
  FreshRoot(const FreshRoot&) = delete;
  FreshRoot& operator=(const FreshRoot&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  static inline int made_ = 0;
  std::filesystem::path path_;
};

ServiceOptions options_with(const FreshRoot& root, MissPolicy miss) {
  ServiceOptions options;
  options.cache_root = root.path();
  options.miss = miss;
  return options;
}

// Warms the root for the request.
void warm_root(const FreshRoot& root, const warmup::PlanRequest& request) {
  auto session = test::GpuSession::open(root.path(), {});
  REQUIRE(session);
  const auto plan = warmup::make_plan(request);
  REQUIRE(plan);
  const auto report = warmup::warm(*plan, *session->compiler, session->cabinet_or_null(), 8, {});
  REQUIRE(report.failed.empty());
}

warmup::PlanRequest generic_of(const Problem& problem) {
  warmup::PlanRequest request;
  request.problems = {{problem, {1, 16384}}};
  request.specialized = false;
  request.generic = true;
  return request;
}

std::string complaint_of_started(Gpu& gpu, const Started& started, const warmup::RowPlan& plan, std::int64_t m = 1) {
  return gpu.complaint(started.gemms.front(), plan, m);
}

// Rows for a problem of 3 groups, in its layout.
warmup::RowPlan some_rows(const Problem& problem) {
  if (problem.layout == Layout::contiguous) return contiguous_plan(problem, padded_m_indices({200, 0, 1300}));
  return masked_plan(problem, {10, 0, 333}, 333);
}

}  // namespace

TEST_CASE("the generic kernel computes every shape of its type and layout", "[miss]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  Random random(gpu.seed());
  for (const Layout layout : {Layout::contiguous, Layout::masked}) {
    const FreshRoot root;
    warm_root(root, generic_of({type, layout, 128, 128, 1}));
    for (int i = 0; i < 12; ++i) {
      const std::int64_t k = depth(type) * random.between(1, 40);
      const Problem problem{type, layout, 8 * random.between(1, 300), k, 3};
      const auto started = start(options_with(root, MissPolicy::fallback), {{problem, {1, 8192}}});
      REQUIRE(started);
      INFO(describe(some_rows(problem)));
      CHECK(complaint_of_started(gpu, started.value(), some_rows(problem)) == "");
      CHECK(started.value().report.missing > 0);
      CHECK(started.value().report.compiled == 0);
      CHECK(started.value().service.wait_for_background(60));
      CHECK(started.value().service.background().failed == 0);
      CHECK(complaint_of_started(gpu, started.value(), some_rows(problem)) == "");
    }
  }
}

TEST_CASE("launches of only the generic kernel give correct results", "[miss]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  for (const Layout layout : {Layout::contiguous, Layout::masked}) {
    const Problem problem{type, layout, 1032, 640, 3};
    auto session = test::GpuSession::open("", {});
    REQUIRE(session);
    const auto spec = jit::families().generic(problem);
    const auto provided = jit::provide(spec, *session->compiler, nullptr);
    REQUIRE(provided);
    const auto kernel = jit::load_kernel<jit::GemmKernel>(session->device, spec, provided->object.payload);
    REQUIRE(kernel);
    auto& verifier = gpu.verifier();
    REQUIRE(verifier.load(some_rows(problem)));
    const auto verdict = verifier.run("the generic kernel", [&](CUstream stream) {
      const auto arguments = layout == Layout::contiguous
                                 ? jit::gemm_arguments(problem, verifier.contiguous_arguments())
                                 : jit::gemm_arguments(problem, verifier.masked_arguments(16));
      return (*kernel)->launch(problem, arguments, stream);
    });
    REQUIRE(verdict);
    CHECK(verdict->complaint == "");
  }
}

TEST_CASE("a start with a warm root loads every kernel without a miss", "[miss]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const FreshRoot root;
  const Problem problem{type, Layout::masked, 1032, 512, 3};
  const auto first = start(options_with(root, MissPolicy::compile), {{problem, {1, 8192}}});
  REQUIRE(first);
  CHECK(first.value().report.missing == first.value().report.compiled);
  CHECK(first.value().report.missing > 0);
  const auto second = start(options_with(root, MissPolicy::error), {{problem, {1, 8192}}});
  REQUIRE(second);
  CHECK(second.value().report.missing == 0);
  CHECK(second.value().report.loaded == first.value().report.loaded);
  CHECK(complaint_of_started(gpu, second.value(), some_rows(problem)) == "");
}

TEST_CASE("a start from only a bundle loads every kernel, and the results are correct", "[miss]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const FreshRoot root;
  const FreshRoot bundle;
  const Problem problem{type, Layout::masked, 1032, 512, 3};
  REQUIRE(start(options_with(root, MissPolicy::compile), {{problem, {1, 8192}}}));
  auto cabinet = cache::Cabinet::open(root.path(), false).value();
  std::vector<cache::Key> keys;
  const auto entries = test::entries_of(cabinet).value();
  for (const auto& entry : entries) keys.push_back(entry.key);
  REQUIRE(cache::export_bundle(cache::Maintenance(cabinet), keys, bundle.path(), {}));
  ServiceOptions options;
  options.layers = {bundle.path()};
  options.miss = MissPolicy::error;
  const auto started = start(options, {{problem, {1, 8192}}});
  REQUIRE(started);
  CHECK(started.value().report.missing == 0);
  CHECK(started.value().report.compiled == 0);
  CHECK(started.value().report.loaded == static_cast<std::int64_t>(keys.size()));
  CHECK(started.value().report.warning == "");
  CHECK(complaint_of_started(gpu, started.value(), some_rows(problem)) == "");
}

TEST_CASE("with the policy error a start on a cold root is refused with key and command", "[miss]") {
  CUBINET_GPU(gpu);
  if (!gpu.wants(DataType::bf16)) return;
  const FreshRoot root;
  const auto refused =
      start(options_with(root, MissPolicy::error), {{{DataType::bf16, Layout::masked, 1032, 512, 3}, {1, 8}}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::not_prepared);
  CHECK(refused.error().message.find("cubinet warmup --shape 1032,512,3") != std::string::npos);
}

TEST_CASE("a launch that needs to load a kernel is refused during a capture, which stays valid", "[miss]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const FreshRoot root;
  const Problem problem{type, Layout::contiguous, 1032, 512, 1};
  const auto started = start(options_with(root, MissPolicy::compile), {{problem, {1, 1024}}});
  REQUIRE(started);
  const auto& gemm = started.value().gemms.front();
  const auto& driver = gpu.driver();
  auto& verifier = gpu.verifier();
  const auto many = contiguous_plan(problem, padded_m_indices({9000}));
  for (const auto mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL}) {
    // A separate problem, so that its kernel for many rows is not loaded yet.
    const auto again = start(options_with(root, MissPolicy::compile), {{problem, {1, 1024}}});
    REQUIRE(again);
    REQUIRE(verifier.load(many));
    REQUIRE(verifier.wait("loading"));
    REQUIRE(driver.cuStreamBeginCapture(verifier.stream(), mode) == CUDA_SUCCESS);
    const auto missed = again.value().gemms.front().launch(verifier.contiguous_arguments(), verifier.stream());
    ContiguousArguments few = verifier.contiguous_arguments();
    few.m = 1024;
    if (type == DataType::fp8)
      few.a_scales = column_major_scales(static_cast<const float*>(few.a_scales.data), few.m, problem.k);
    const auto warmed = gemm.launch(few, verifier.stream());
    CUgraph graph = nullptr;
    CHECK(driver.cuStreamEndCapture(verifier.stream(), &graph) == CUDA_SUCCESS);
    REQUIRE(graph != nullptr);
    CHECK(driver.cuGraphDestroy(graph) == CUDA_SUCCESS);
    CHECK(warmed);
    REQUIRE_FALSE(missed);
    CHECK(missed.error().code == ErrorCode::capturing);
    CHECK(gpu.complaint(again.value().gemms.front(), many) == "");
  }
}

TEST_CASE("kernels are compiled and loaded in the background while another stream is captured", "[miss]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const FreshRoot root;
  const Problem problem{type, Layout::contiguous, 1032, 512, 1};
  warm_root(root, generic_of(problem));
  const auto& driver = gpu.driver();
  auto& verifier = gpu.verifier();
  REQUIRE(verifier.load(some_rows({type, Layout::contiguous, 1032, 512, 3})));
  REQUIRE(verifier.wait("loading"));
  REQUIRE(driver.cuStreamBeginCapture(verifier.stream(), CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
  const auto started = start(options_with(root, MissPolicy::fallback), {{problem, {1, 1024}}});
  const bool settled = started && started.value().service.wait_for_background(60);
  CUgraph graph = nullptr;
  CHECK(driver.cuStreamEndCapture(verifier.stream(), &graph) == CUDA_SUCCESS);
  if (graph != nullptr) CHECK(driver.cuGraphDestroy(graph) == CUDA_SUCCESS);
  REQUIRE(started);
  CHECK(settled);
  CHECK(started.value().service.background().failed == 0);
  CHECK(started.value().service.background().ready == 1);
}

TEST_CASE("each device of a process has its own kernels, whichever device is current", "[miss]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  int devices = 0;
  REQUIRE(gpu.driver().cuDeviceGetCount(&devices) == CUDA_SUCCESS);
  if (devices < 2) CUBINET_SKIP("needs two devices");
  const FreshRoot root;
  const Problem problem{type, Layout::masked, 1032, 512, 3};
  ServiceOptions options = options_with(root, MissPolicy::compile);
  const auto first = start(options, {{problem, {1, 8192}}});
  options.device = 1;
  const auto second = start(options, {{problem, {1, 8192}}});
  REQUIRE(first);
  REQUIRE(second);
  CHECK(second.value().report.missing == 0);
  CHECK(complaint_of_started(gpu, first.value(), some_rows(problem)) == "");

  auto other = test::GpuSession::open(root.path(), {}, 1);
  REQUIRE(other);
  const auto on_second = [&] {
    const jit::CurrentContext current(*other->device);
    auto verifier = test::Verifier::open(other->device, *other->compiler, other->cabinet_or_null(),
                                         {gpu.seed(), std::chrono::seconds(20), [](const std::string&) { _exit(3); }});
    REQUIRE(verifier);
    REQUIRE(verifier->load(some_rows(problem)));
    const auto verdict = verifier->run("the second device", [&](CUstream stream) {
      return launch(second.value().gemms.front(), *verifier, 16, stream);
    });
    REQUIRE(verdict);
    return verdict->complaint;
  };
  CHECK(on_second() == "");
  CHECK(complaint_of_started(gpu, first.value(), some_rows(problem)) == "");
}

}  // namespace cubinet::tests
