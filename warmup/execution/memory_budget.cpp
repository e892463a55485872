#include "warmup/execution/memory_budget.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "util/text.hpp"
#include "warmup/execution/execution_size.hpp"

namespace cubinet::warmup {

std::int64_t MemoryBudget::available(std::int64_t used) const {
  return std::min(bytes_ - std::max<std::int64_t>(used, 0), watch_->free_at_start() - used);
}

Expected<std::int64_t> MemoryBudget::available() {
  return watch_->used().map([&](std::int64_t used) { return available(used); });
}

Expected<std::string> MemoryBudget::shortage(std::int64_t bytes) {
  return watch_->used().map([&](std::int64_t used) {
    if (bytes <= available(used)) return std::string();
    const std::int64_t free = watch_->free_at_start() - used;
    const std::string remark =
        bytes <= free ? std::string() : fmt::format(", and {} are free", util::format_byte_size(free));
    return fmt::format("needs at least {} of device memory, the budget is {}{}",
                       util::format_byte_size(saturating_sum(std::max<std::int64_t>(used, 0), bytes)),
                       util::format_byte_size(bytes_), remark);
  });
}

}  // namespace cubinet::warmup
