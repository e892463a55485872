#include "support/test_problems.hpp"

#include "cubinet/scales.hpp"
#include "jit/problems.hpp"

namespace cubinet::test {

std::vector<std::int32_t> padded_m_indices(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int32_t> m_indices;
  std::int32_t group = 0;
  for (const std::int64_t size : sizes) {
    m_indices.insert(m_indices.end(), static_cast<std::size_t>(size), group++);
    while (m_indices.size() % static_cast<std::size_t>(contiguous_alignment()) != 0) m_indices.push_back(-1);
  }
  return m_indices;
}

double least_bytes_moved(const warmup::RowPlan& plan) {
  const Problem& p = plan.problem;
  const std::int64_t element = jit::element_bytes(jit::operands_of(p.data_type).a);
  const std::int64_t rows = plan.valid_rows();
  std::int64_t bytes = element * p.k * (p.groups * p.n + rows) + 2 * rows * p.n;
  if (p.data_type == DataType::fp8) bytes += 4 * scale_blocks(p.k) * (p.groups * scale_blocks(p.n) + rows);
  return static_cast<double>(bytes);
}

}  // namespace cubinet::test
