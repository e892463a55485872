#include "jit/kernel_table.hpp"

#include <algorithm>
#include <utility>

namespace cubinet::jit {

KernelTable::KernelTable(const Problem& problem, std::vector<Row> rows) : problem_(problem), rows_(rows.size()) {
  for (std::size_t i = 0; i < rows.size(); ++i) rows_[i].row = std::move(rows[i]);
}

std::size_t KernelTable::index_of(std::int64_t m) const noexcept {
  const auto found = std::lower_bound(rows_.begin(), rows_.end(), m, [](const Slot& slot, std::int64_t wanted) {
    return slot.row.range.last < wanted;
  });
  return static_cast<std::size_t>(found - rows_.begin());
}

void KernelTable::set(std::size_t index, std::shared_ptr<const GemmKernel> kernel) {
  keep_.push_back(std::move(kernel));
  rows_[index].selected.store(keep_.back().get(), std::memory_order_release);
}

void KernelTable::keep_generic(std::shared_ptr<const GemmKernel> kernel) {
  keep_.push_back(std::move(kernel));
  generic_.store(keep_.back().get(), std::memory_order_release);
}

const GemmKernel* KernelTable::find_stand_in(std::size_t index) noexcept {
  const GemmKernel* found = generic_.load(std::memory_order_acquire);
  // Prefer a kernel that was made for this N and K to the generic one.
  for (const Slot& slot : rows_) {
    if (const GemmKernel* other = slot.selected.load(std::memory_order_acquire)) found = other;
  }
  if (found != nullptr) rows_[index].stand_in.store(found, std::memory_order_release);
  return found;
}

}  // namespace cubinet::jit
