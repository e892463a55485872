// The kernels of one problem by M, some of them not loaded yet. A launch reads two atomic pointers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cubinet/problem.hpp"
#include "jit/kernel.hpp"
#include "jit/kernel_spec.hpp"

namespace cubinet::jit {

// One row for each range of M with one selected kernel. Every kernel of a problem computes it correctly for any M; the
// selected one is the fastest. Thread-safe without a lock, except set() and keep_generic(), which one thread at a time
// may call. A kernel that was given to the table lives as long as the table.
class KernelTable {
 public:
  struct Row {
    MRange range;
    KernelSpec spec;
  };

  // Precondition: `rows` is ascending and without gaps, and not empty.
  KernelTable(const Problem& problem, std::vector<Row> rows);

  [[nodiscard]] const Problem& problem() const noexcept { return problem_; }
  [[nodiscard]] MRange range() const noexcept { return {rows_.front().row.range.first, rows_.back().row.range.last}; }
  [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
  [[nodiscard]] const Row& row(std::size_t index) const noexcept { return rows_[index].row; }

  // The row that serves `m`. Precondition: m lies within range().
  [[nodiscard]] std::size_t index_of(std::int64_t m) const noexcept;

  // The kernel that a launch for the row takes: the selected one, else its stand-in, else null.
  [[nodiscard]] const GemmKernel* ready(std::size_t index) const noexcept {
    const GemmKernel* kernel = rows_[index].selected.load(std::memory_order_acquire);
    return kernel != nullptr ? kernel : rows_[index].stand_in.load(std::memory_order_acquire);
  }
  [[nodiscard]] bool is_loaded(std::size_t index) const noexcept {
    return rows_[index].selected.load(std::memory_order_acquire) != nullptr;
  }

  void set(std::size_t index, std::shared_ptr<const GemmKernel> kernel);

  // Keeps the generic kernel of the problem, as a stand-in for any row.
  void keep_generic(std::shared_ptr<const GemmKernel> kernel);

  // Makes a kernel of the table the row's stand-in until the row is set. Null when the table has no kernel.
  const GemmKernel* find_stand_in(std::size_t index) noexcept;

  // True for the first caller only, which then has the row's kernel made in the background.
  [[nodiscard]] bool claim(std::size_t index) noexcept { return !rows_[index].claimed.exchange(true); }

 private:
  struct Slot {
    Row row;
    std::atomic<const GemmKernel*> selected{nullptr};
    std::atomic<const GemmKernel*> stand_in{nullptr};
    std::atomic<bool> claimed{false};
  };

  Problem problem_;
  std::vector<Slot> rows_;
  std::atomic<const GemmKernel*> generic_{nullptr};
  std::vector<std::shared_ptr<const GemmKernel>> keep_;
};

}  // namespace cubinet::jit
