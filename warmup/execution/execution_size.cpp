#include "warmup/execution/execution_size.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "warmup/execution/executor_layout.hpp"
#include "warmup/execution/quantization_executor.hpp"

namespace cubinet::warmup {
namespace {

// The largest number in [first, last] for which `holds` is true; first - 1 if it never is. Precondition: `holds` is
// true up to some number and false after it.
template <class Holds>
std::int64_t last_that(std::int64_t first, std::int64_t last, const Holds& holds) {
  std::int64_t good = first - 1;
  while (good < last) {
    const std::int64_t middle = good + (last - good + 1) / 2;
    if (holds(middle)) {
      good = middle;
    } else {
      last = middle - 1;
    }
  }
  return good;
}

// The largest M in the ranges that is not above `wanted`; the smallest M of all if there is none.
std::int64_t nearest(const std::vector<MRange>& ranges, std::int64_t wanted) {
  for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
    if (range->first <= wanted) return std::min(range->last, wanted);
  }
  return ranges.front().first;
}

class Chooser {
 public:
  Chooser(const PlannedUse& use, const std::string& config, std::int64_t available, const jit::Target& target,
          const jit::Registry& families)
      : use_(use),
        config_(config),
        available_(available),
        target_(target),
        families_(families),
        last_m_(use.m_ranges.back().last) {}

  [[nodiscard]] std::optional<ExecutionSize> choose() const {
    const std::int64_t most = last_that(1, use_.problem.groups, [&](std::int64_t groups) { return fits(groups, 1); });
    for (std::int64_t groups = most; groups >= 1; --groups) {
      const auto size = selected(groups, ranges_for(groups));
      if (size) return size;
    }
    if (most < 1) return std::nullopt;
    const std::int64_t rows = largest_rows(most, {1, last_m_});
    return sized(most, rows, {1, rows}, true);
  }

 private:
  [[nodiscard]] Problem with(std::int64_t groups) const {
    Problem problem = use_.problem;
    problem.groups = static_cast<std::int32_t>(groups);
    return problem;
  }

  [[nodiscard]] bool fits(std::int64_t groups, std::int64_t rows) const {
    const auto layout = executor_layout(with(groups), rows);
    return layout && layout->bytes <= available_ / device_granule() * device_granule();
  }

  [[nodiscard]] std::int64_t largest_rows(std::int64_t groups, MRange range) const {
    return last_that(range.first, range.last, [&](std::int64_t rows) { return fits(groups, rows); });
  }

  [[nodiscard]] ExecutionSize sized(std::int64_t groups, std::int64_t rows, MRange m, bool forced) const {
    return {with(groups), rows, m.last, m.first, forced, executor_layout(with(groups), rows)->bytes};
  }

  // The ranges of M that select the configuration for that number of groups.
  [[nodiscard]] std::vector<MRange> ranges_for(std::int64_t groups) const {
    if (groups == use_.problem.groups) return use_.m_ranges;
    std::vector<MRange> ranges;
    for (const jit::Selection& selection : families_.selections(with(groups), {1, last_m_}, target_)) {
      if (selection.spec.config == config_) ranges.push_back(selection.range);
    }
    return ranges;
  }

  // Precondition: one row fits.
  [[nodiscard]] std::optional<ExecutionSize> selected(std::int64_t groups, const std::vector<MRange>& ranges) const {
    if (ranges.empty()) return std::nullopt;
    if (use_.problem.layout == Layout::masked) {
      const std::int64_t rows = largest_rows(groups, {1, last_m_});
      return sized(groups, rows, {ranges.front().first, nearest(ranges, rows)}, false);
    }
    for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
      const std::int64_t rows = largest_rows(groups, *range);
      if (rows >= range->first) return sized(groups, rows, {ranges.front().first, rows}, false);
    }
    return std::nullopt;
  }

  const PlannedUse& use_;
  const std::string& config_;
  std::int64_t available_;
  jit::Target target_;
  const jit::Registry& families_;
  std::int64_t last_m_;
};

}  // namespace

std::optional<ExecutionSize> choose_size(const PlannedUse& use, const std::string& config, std::int64_t available,
                                         const jit::Target& target, const jit::Registry& families) {
  return Chooser(use, config, available, target, families).choose();
}

std::int64_t smallest_charge(const Problem& problem) {
  Problem smallest = problem;
  smallest.groups = 1;
  const auto layout = executor_layout(smallest, 1);
  return layout ? charged_bytes(layout->bytes) : std::numeric_limits<std::int64_t>::max();
}

bool is_quantization(const jit::KernelSpec& spec, const jit::Registry& families) {
  return spec.family == families.quantization(spec.architecture);
}

std::optional<ExecutionSize> choose_size(const PlannedKernel& kernel, std::int64_t available, const jit::Target& target,
                                         const jit::Registry& families) {
  for (const PlannedUse& use : kernel.uses) {
    if (auto size = choose_size(use, kernel.spec.config, available, target, families)) return size;
  }
  return std::nullopt;
}

std::int64_t smallest_charge(const PlannedKernel& kernel, const jit::Registry& families) {
  if (is_quantization(kernel.spec, families)) return charged_bytes(QuantizationExecutor::required_bytes());
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const PlannedUse& use : kernel.uses) least = std::min(least, smallest_charge(use.problem));
  return least;
}

}  // namespace cubinet::warmup
