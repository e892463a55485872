#include "warmup/campaign/runner.hpp"

#include <algorithm>
#include <deque>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cache/maintenance.hpp"
#include "util/clock.hpp"
#include "util/threads.hpp"
#include "warmup/campaign/warm_run.hpp"

namespace cubinet::warmup {
namespace {

// The order in which kernels are started: the longest compilations first, so that all threads finish at about the same
// time.
std::vector<std::size_t> longest_first(const Plan& plan) {
  std::vector<std::size_t> order(plan.kernels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto weight = [&plan](std::size_t index) {
    const jit::KernelSpec& spec = plan.kernels[index].spec;
    return spec.family->compile_weight(spec);
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return weight(a) > weight(b); });
  return order;
}

// Looks up every kernel. The result is the missing ones, in the given order.
std::deque<KernelTask> look_up_all(WarmRun& run, const std::vector<std::size_t>& order, int jobs) {
  std::vector<char> settled(order.size());
  util::parallel_for(order.size(), jobs, [&](std::size_t i) { settled[i] = run.look_up(order[i]) ? 1 : 0; });
  std::deque<KernelTask> missing;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (settled[i] == 0) missing.push_back({order[i]});
  }
  return missing;
}

// Why entries are gone; the cabinet keeps a list of evicted keys.
std::string why_gone(const std::vector<cache::Key>& gone, const cache::Cabinet& cabinet) {
  const auto evicted = cache::Maintenance(cabinet).evicted();
  if (!evicted) return "whether they were evicted is not known, " + evicted.error().message;
  const auto was_evicted = [&](const cache::Key& key) {
    return std::binary_search(evicted->begin(), evicted->end(), key);
  };
  const auto count = static_cast<std::size_t>(std::count_if(gone.begin(), gone.end(), was_evicted));
  constexpr const char* limits =
      "evicted to keep within the limits, which are too small for it: see CUBINET_CACHE_MAX_SIZE and "
      "CUBINET_CACHE_MAX_ENTRIES";
  constexpr const char* others =
      "not evicted, but removed by another program, or not visible here yet (a network file system): run it again";
  if (count == gone.size()) return limits;
  return count == 0 ? others : fmt::format("{} {}; the others {}", count, limits, others);
}

}  // namespace

Report warm(const Plan& plan, jit::Compiler& compiler, cache::Cabinet* cabinet, int jobs, const Progress& progress,
            const std::atomic<bool>* stop, const Sharing& sharing) {
  const util::Moment begin = util::now();
  WarmRun run(plan, compiler, cabinet, progress, stop, sharing);
  std::deque<KernelTask> missing = look_up_all(run, longest_first(plan), jobs);
  const std::size_t count = missing.size();
  if (count > 0) run.record_hits();
  KernelQueue queue(std::move(missing));
  const std::size_t workers = std::min(count, static_cast<std::size_t>(std::max(jobs, 1)));
  util::parallel_for(workers, jobs, [&](std::size_t) { run.work(queue); });
  Report report = run.finish();
  if (cabinet != nullptr && report.compiled > 0) look_for_gone(report, *cabinet);
  report.seconds = util::seconds_since(begin);
  return report;
}

void look_for_gone(Report& report, const cache::Cabinet& cabinet) {
  std::vector<cache::Key> gone;
  const auto is_gone = [&](const cache::Key& key) {
    if (cabinet.holds(key)) return false;
    gone.push_back(key);
    return true;
  };
  std::erase_if(report.stored_keys, is_gone);
  std::erase_if(report.hit_keys, is_gone);
  if (gone.empty()) return;
  report.stored = static_cast<std::int64_t>(report.stored_keys.size());
  if (report.persist == cache::Persistence::on) report.persist = cache::Persistence::off;
  if (!report.persist_problem.empty()) return;
  report.persist_problem = fmt::format("{} of {} kernels of the plan have been removed from {}: {}", gone.size(),
                                       report.compiled + report.hits, cabinet.root().native(), why_gone(gone, cabinet));
}

Missing look_for_missing(const Plan& plan, const cache::Cabinet& cabinet) {
  Missing missing;
  for (const PlannedKernel& kernel : plan.kernels) {
    if (jit::find(kernel.spec, cabinet)) continue;
    ++missing.kernels;
    if (!missing.unreadable.empty()) continue;
    const auto there = cache::Maintenance(cabinet).check(jit::key_of(kernel.spec));
    if (!there && there.error().code != ErrorCode::not_found) missing.unreadable = there.error().message;
  }
  return missing;
}

}  // namespace cubinet::warmup
