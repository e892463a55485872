#include "warmup/execution/executor_layout.hpp"

#include <initializer_list>
#include <limits>

#include "cubinet/scales.hpp"
#include "jit/problems.hpp"
#include "warmup/execution/operands.hpp"
#include "warmup/execution/row_plan.hpp"
#include "warmup/execution/verification_kernels.hpp"

namespace cubinet::warmup {
namespace {

// Aligns every tensor for any access, and keeps it out of the cache lines of its neighbours.
constexpr std::int64_t kAlignment = 256;
// TMA coordinates are signed 32-bit numbers.
constexpr std::int64_t kMostRows = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;

// Places one part after the other, and remembers whether they were too large.
class Placer {
 public:
  Extent place(std::initializer_list<std::int64_t> factors) {
    std::int64_t bytes = 1;
    for (const std::int64_t factor : factors) fits_ = fits_ && !__builtin_mul_overflow(bytes, factor, &bytes);
    const Extent extent{end_, bytes};
    fits_ = fits_ && bytes <= kMostBytes - end_;
    if (fits_) end_ = (end_ + bytes + kAlignment - 1) / kAlignment * kAlignment;
    return extent;
  }
  [[nodiscard]] bool fits() const { return fits_; }
  [[nodiscard]] std::int64_t end() const { return end_; }

 private:
  std::int64_t end_ = 0;
  bool fits_ = true;
};

}  // namespace

std::optional<ExecutorLayout> executor_layout(const Problem& problem, std::int64_t m) {
  const auto& [type, shape, n, k, groups] = problem;
  const std::int64_t times = shape == Layout::masked ? groups : 1;
  if (m < 1 || m > kMostRows / times) return std::nullopt;
  const std::int64_t rows = times * m;
  const std::int64_t element = jit::element_bytes(jit::operands_of(type).a);
  Placer placer;
  ExecutorLayout layout;
  layout.a = placer.place({element, rows, k});
  layout.b = placer.place({element, groups, n, k});
  layout.d = placer.place({2, rows, n});
  layout.grouping = placer.place({4, shape == Layout::masked ? groups : m});
  if (jit::has_scales(type)) {
    layout.a_scales = placer.place({4, rows, scale_blocks(k)});
    layout.scale_workspace = placer.place({4, times, aligned_scale_rows(m), scale_blocks(k)});
    layout.b_scales = placer.place({4, groups, scale_blocks(n), scale_blocks(k)});
  }
  layout.valid = placer.place({rows});
  layout.row_list = placer.place({4, rows});
  layout.tiles = placer.place({sizeof(RowTile), (rows + kRowsPerTile - 1) / kRowsPerTile + groups});
  layout.sums = placer.place({sizeof(GroupSums), groups});
  layout.writes = placer.place({2 * sizeof(WriteCounts)});
  layout.bytes = placer.end();
  if (!placer.fits()) return std::nullopt;
  return layout;
}

}  // namespace cubinet::warmup
