#include "gpu/gpu.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <stdexcept>

#include <fmt/format.h>
#include <unistd.h>

#include "jit/families/registry.hpp"
#include "jit/target.hpp"
#include "util/machine.hpp"
#include "warmup/campaign/runner.hpp"
#include "warmup/planning/plan.hpp"

namespace cubinet::tests {

bool mentions(const std::string& text, const std::string& part) {
  UNSCOPED_INFO(text);
  return text.find(part) != std::string::npos;
}

namespace {

std::string from_environment(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

std::string cache_folder() {
  const auto usual = std::filesystem::temp_directory_path() / fmt::format("cubinet-gpu-tests-{}", getuid());
  return from_environment("CUBINET_TEST_CACHE", usual.string());
}

std::uint64_t choose_seed() {
  const std::string fresh = std::to_string(std::random_device{}());
  const std::uint64_t seed = std::stoull(from_environment("CUBINET_TEST_SEED", fresh));
  fmt::print("CUBINET_TEST_SEED={}\n", seed);
  std::fflush(stdout);
  return seed;
}

void stop_hung(const std::string& what) {
  fmt::print(stderr, "HUNG: {}\n", what);
  std::fflush(stderr);
  _exit(3);
}

[[noreturn]] void give_up(const std::string& doing, const Error& error) {
  throw std::runtime_error(doing + ": " + error.message + "\n" + error.detail);
}

bool is_absence(const Error& error) {
  return error.code == ErrorCode::driver_missing || error.code == ErrorCode::wrong_device;
}

test::Verifier open_verifier(test::GpuSession& session, std::uint64_t seed) {
  const auto deadline = std::chrono::seconds(std::stoll(from_environment("CUBINET_TEST_DEADLINE_S", "20")));
  auto verifier =
      test::Verifier::open(session.device, *session.compiler, session.cabinet_or_null(), {seed, deadline, stop_hung});
  if (!verifier) give_up("opening the verifier", verifier.error());
  return std::move(*verifier);
}

}  // namespace

Gpu::Gpu(test::GpuSession session, Service service, std::uint64_t seed)
    : session_(std::move(session)),
      current_(*session_.device),
      service_(std::move(service)),
      seed_(seed),
      verifier_(open_verifier(session_, seed)) {}

std::unique_ptr<Gpu> Gpu::open(std::string& reason) {
  const std::string cache = cache_folder();
  auto session = test::GpuSession::open(cache, {});
  if (!session && !is_absence(session.error())) give_up("opening the device", session.error());
  Expected<jit::Target> target = session ? jit::target_of(session->device->info()) : jit::Target();
  if (!session) target = propagate(session);
  if (!target) {
    reason = target.error().message;
    return nullptr;
  }
  ServiceOptions options;
  options.cache_root = cache;
  auto service = Service::open(options);
  if (!service) give_up("opening the service", service.error());
  return std::unique_ptr<Gpu>(new Gpu(std::move(*session), std::move(service).value(), choose_seed()));
}

Gpu* Gpu::find(std::string& reason) {
  static std::string why;
  // Never destroyed: if a kernel hung or faulted, destruction would block the end of the process.
  static Gpu* const gpu = open(why).release();
  reason = why;
  return gpu;
}

test::Verifier Gpu::make_verifier() { return open_verifier(session_, seed_ + 1000000); }

std::size_t Gpu::free_bytes() const {
  std::size_t free = 0;
  std::size_t total = 0;
  const auto status = driver().check(driver().cuMemGetInfo(&free, &total), "cuMemGetInfo");
  if (!status) give_up("asking for free memory", status.error());
  return free;
}

GroupedGemm Gpu::prepare(const Problem& problem, MRange range) {
  auto gemm = service_.prepare(problem, range);
  if (!gemm) give_up("preparing", gemm.error());
  return std::move(gemm).value();
}

bool Gpu::wants(DataType type) const {
  static const std::string wanted = from_environment("CUBINET_TEST_DTYPE", "");
  return wanted.empty() || wanted == jit::data_type_name(type);
}

void Gpu::compile_ahead(const std::vector<Problem>& problems) {
  warmup::PlanRequest request;
  request.problems = warmup::over_range(problems, {1, kLargestM});
  const auto plan = warmup::make_plan(request);
  if (!plan) give_up("planning", plan.error());
  const auto report = warmup::warm(*plan, *session_.compiler, session_.cabinet_or_null(), util::usable_cores(), {});
  if (!report.failed.empty()) give_up("compiling", report.failed.front().error);
}

Quantizer Gpu::prepare_quantizer() {
  auto quantizer = service_.prepare_quantizer();
  if (!quantizer) give_up("preparing the quantizer", quantizer.error());
  return std::move(quantizer).value();
}

std::string Gpu::complaint(const GroupedGemm& gemm, const warmup::RowPlan& plan, std::int64_t expected_m) {
  auto said = judge(gemm, plan, expected_m);
  if (said && said->empty() && plan.problem.data_type == DataType::fp8) said = compare_orders(gemm, plan, expected_m);
  return said ? *said : said.error().message;
}

Expected<std::string> Gpu::judge(const GroupedGemm& gemm, const warmup::RowPlan& plan, std::int64_t expected_m) {
  return verifier_.load(plan)
      .and_then([&] {
        return verifier_.run(describe(plan),
                             [&](CUstream stream) { return launch(gemm, verifier_, expected_m, stream); });
      })
      .map([](const warmup::Verdict& verdict) { return verdict.complaint; });
}

// Runs the plan with row-major scales and compares the output with the one just judged. Only a few rows are compared
// with the reference, but all writes are counted.
Expected<std::string> Gpu::compare_orders(const GroupedGemm& gemm, const warmup::RowPlan& plan,
                                          std::int64_t expected_m) {
  const auto run = [&](CUstream stream) { return launch(gemm, verifier_, expected_m, stream, ScaleOrder::row_major); };
  const auto verdict = verifier_.set_output_aside().and_then(
      [&] { return verifier_.run(describe(plan) + " row-major scales", run, kLargestM); });
  if (!verdict) return propagate(verdict);
  if (!verdict->right()) return "row-major scales: " + verdict->complaint;
  return verifier_.count_differences().map([](std::uint64_t count) {
    return count == 0 ? std::string() : fmt::format("{} elements differ between the two orders of scales", count);
  });
}

Expected<void> outcome(const Status& status) {
  if (!status) return fail(status.error());
  return {};
}

Expected<void> launch(const GroupedGemm& gemm, const test::Verifier& verifier, std::int64_t expected_m, CUstream stream,
                      ScaleOrder order) {
  return outcome(gemm.problem().layout == Layout::contiguous
                     ? gemm.launch(verifier.contiguous_arguments(order), stream)
                     : gemm.launch(verifier.masked_arguments(expected_m, order), stream));
}

const char* name(ScaleOrder order) { return order == ScaleOrder::row_major ? "row-major" : "column-major"; }

std::int64_t depth(DataType type) { return 128 / jit::element_bytes(jit::operands_of(type).a); }

std::vector<ScaleOrder> orders(DataType type) {
  if (type == DataType::bf16) return {ScaleOrder::column_major};
  return {ScaleOrder::column_major, ScaleOrder::row_major};
}

std::vector<std::int64_t> selecting_ms(const Problem& problem) {
  std::vector<std::int64_t> ms;
  for (const auto& selection : jit::families().selections(problem, {1, kLargestM})) ms.push_back(selection.range.first);
  return ms;
}

std::string describe(const warmup::RowPlan& plan) {
  const Problem& p = plan.problem;
  return fmt::format("{} {} n={} k={} groups={} rows={} capacity={} valid={}", jit::data_type_name(p.data_type),
                     jit::layout_name(p.layout), p.n, p.k, p.groups, plan.rows, plan.capacity, plan.valid_rows());
}

std::string source_root() { return std::filesystem::exists(CUBINET_SOURCE_DIR) ? CUBINET_SOURCE_DIR : "."; }

}  // namespace cubinet::tests
