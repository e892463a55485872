#include "gemm_run.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "jit/families/registry.hpp"
#include "jit/sm90/grouped_gemm.hpp"
#include "support/test_problems.hpp"
#include "util/clock.hpp"

namespace cubinet::bench {
namespace {

void stop_hung(const std::string& what) {
  fmt::print(stderr, "HUNG: {}\n", what);
  std::fflush(stderr);
  _exit(3);
}

constexpr const char* kArchitecture = "sm_90a";

struct Choice {
  std::string variant;
  jit::sm90::TileConfig config;
};

// The configurations to run on a case: the selected one, then the variants whose filter matches.
std::vector<Choice> choices(const GemmOptions& options, const Case& c) {
  const auto selected = jit::sm90::family_of(c.problem).config_for(c.problem, c.selecting_m());
  std::vector<Choice> result;
  if (options.selected) result.push_back({"selected", selected});
  for (const Variant& variant : options.variants) {
    if (matches(c, variant.filter)) result.push_back({variant.label, variant.applied_to(selected)});
  }
  return result;
}

// One configuration of one case, with its kernel.
struct Entry {
  std::size_t plan = 0;  // index into GemmBenchmark::plans_
  Measurement measurement;
  jit::KernelSpec spec;
  std::shared_ptr<const jit::GemmKernel> kernel;  // null if it cannot be loaded or computes a wrong result
};

class GemmBenchmark {
 public:
  GemmBenchmark(test::GpuSession& session, const GemmOptions& options)
      : session_(session), options_(options), pool_(session), num_sms_(session.device->info().num_sms) {}

  Expected<GemmResult> operator()() {
    return lay_out()
        .and_then([&] { return open_device(); })
        .and_then([&] { return compile(); })
        .and_then([&] { return check_all(); })
        .and_then([&] { return time_all(); })
        .map([&] { return result(); });
  }

 private:
  Expected<void> lay_out();
  void add_entry(const Case& c, const Choice& choice);
  Expected<void> open_device();
  Expected<void> compile();
  Expected<void> check_all();
  Expected<void> check(Entry& entry);
  Expected<void> time_all();
  Expected<void> time(Entry& entry);
  GemmResult result();
  [[nodiscard]] Stopwatch::Launch launch_of(const Entry& entry) const;

  test::GpuSession& session_;
  const GemmOptions& options_;
  KernelPool pool_;
  int num_sms_;
  std::optional<test::Verifier> verifier_;
  std::optional<Stopwatch> watch_;
  std::vector<warmup::RowPlan> plans_;
  std::vector<Entry> entries_;
  double empty_us_ = 0;
};

Expected<void> GemmBenchmark::lay_out() {
  for (const Case& c : options_.cases) {
    const auto sizes = group_sizes(c, options_.seed);
    if (!sizes) return propagate(sizes);
    plans_.push_back(plan_of(c, *sizes));
    for (const Choice& choice : choices(options_, c)) add_entry(c, choice);
  }
  return {};
}

void GemmBenchmark::add_entry(const Case& c, const Choice& choice) {
  const auto& plan = plans_.back();
  Entry entry;
  entry.plan = plans_.size() - 1;
  entry.measurement = {
      c, choice.variant, jit::sm90::name(choice.config), plan.flop(), test::least_bytes_moved(plan), {}, "unchecked", 0,
      0};
  entry.spec = jit::sm90::spec_for(c.problem, choice.config);
  entries_.push_back(std::move(entry));
}

Expected<void> GemmBenchmark::open_device() {
  auto verifier = test::Verifier::open(session_.device, *session_.compiler, session_.cabinet_or_null(),
                                       {options_.seed, std::chrono::seconds(20), stop_hung});
  if (!verifier) return propagate(verifier);
  verifier_ = std::move(*verifier);
  auto watch = Stopwatch::make(session_.device->driver(), *verifier_);
  if (!watch) return propagate(watch);
  watch_ = std::move(*watch);
  return verifier_->reserve(plans_);
}

Expected<void> GemmBenchmark::compile() {
  std::vector<jit::KernelSpec> specs;
  for (const Entry& entry : entries_) specs.push_back(entry.spec);
  const auto report = compile_all(specs, *session_.compiler, session_.cabinet_or_null(), options_.jobs);
  fmt::print(stderr, "{} kernels compiled, {} found, {} failed, {:.1f} s\n", report.compiled, report.hits,
             report.failed.size(), report.seconds);
  for (Entry& entry : entries_) {
    auto kernel = pool_.get(entry.spec);
    if (kernel) entry.kernel = *kernel;
    if (!kernel) {
      entry.measurement.check = kernel.error().message;
      fmt::print(stderr, "{} {}: {}\n{}\n", entry.measurement.c.name, entry.measurement.config, kernel.error().message,
                 kernel.error().detail);
    }
  }
  return {};
}

Stopwatch::Launch GemmBenchmark::launch_of(const Entry& entry) const {
  const Case& c = entry.measurement.c;
  return [this, &entry, &c](CUstream stream) {
    const auto arguments = c.problem.layout == Layout::contiguous
                               ? jit::gemm_arguments(c.problem, verifier_->contiguous_arguments())
                               : jit::gemm_arguments(c.problem, verifier_->masked_arguments(c.rows_per_group));
    return entry.kernel->launch(c.problem, arguments, stream);
  };
}

Expected<void> GemmBenchmark::check_all() {
  const util::Moment begin = util::now();
  for (Entry& entry : entries_) {
    if (!entry.kernel || !options_.check) continue;
    if (const auto status = check(entry); !status) return status;
  }
  fmt::print(stderr, "checked in {:.1f} s\n", util::seconds_since(begin));
  return {};
}

Expected<void> GemmBenchmark::check(Entry& entry) {
  Measurement& m = entry.measurement;
  if (const auto status = verifier_->load(plans_[entry.plan], test::Verifier::Operands::keep); !status) return status;
  const auto verdict = verifier_->run(m.c.name + " " + m.config, launch_of(entry));
  if (!verdict) return propagate(verdict);
  m.difference = verdict->worst_difference;
  m.error_share = verdict->largest_share;
  m.check = verdict->right() ? "ok" : verdict->complaint;
  if (verdict->right()) return {};
  fmt::print(stderr, "WRONG {} {}: {}\n", m.c.name, m.config, m.check);
  entry.kernel.reset();
  return {};
}

Expected<void> GemmBenchmark::time_all() {
  const auto empty = watch_->steady_us(
      "an empty kernel", [&](CUstream stream) { return verifier_->kernels().empty(num_sms_, stream); },
      options_.budget_ms);
  if (!empty) return propagate(empty);
  empty_us_ = *empty;
  for (int round = 0; round < options_.rounds; ++round) {
    for (Entry& entry : entries_) {
      if (!entry.kernel) continue;
      if (const auto status = time(entry); !status) return status;
    }
    fmt::print(stderr, "round {} of {} done\n", round + 1, options_.rounds);
  }
  return {};
}

Expected<void> GemmBenchmark::time(Entry& entry) {
  Measurement& m = entry.measurement;
  if (const auto status = verifier_->load(plans_[entry.plan], test::Verifier::Operands::keep); !status) return status;
  const int pause_ms = options_.pause_ms > 0 ? options_.pause_ms : m.compute_bound() ? 150 : 50;
  std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
  const auto us = watch_->steady_us(m.c.name + " " + m.config, launch_of(entry), options_.budget_ms);
  if (!us) return propagate(us);
  m.rounds_us.push_back(*us);
  return {};
}

GemmResult GemmBenchmark::result() {
  GemmResult result;
  result.empty_us = empty_us_;
  for (Entry& entry : entries_) {
    result.all_right = result.all_right && entry.kernel != nullptr;
    result.measurements.push_back(std::move(entry.measurement));
  }
  return result;
}

}  // namespace

std::vector<jit::KernelSpec> kernels_of(const GemmOptions& options) {
  std::vector<jit::KernelSpec> specs{jit::families().verification(kArchitecture)->spec()};
  for (const Case& c : options.cases) {
    for (const Choice& choice : choices(options, c)) {
      specs.push_back(jit::sm90::spec_for(c.problem, choice.config));
    }
  }
  return specs;
}

Expected<GemmResult> run_gemm(test::GpuSession& session, const GemmOptions& options) {
  const jit::CurrentContext current(*session.device);
  if (const auto status = current.status(); !status) return propagate(status);
  GemmBenchmark benchmark(session, options);
  return benchmark();
}

}  // namespace cubinet::bench
