#include "jit/gemm_arguments.hpp"

#include <vector>

#include "catch.hpp"

using namespace cubinet;
using MIndices = std::vector<std::int32_t>;

namespace {

// Three blocks of 128 rows: group 0, group 2 with a padded tail, padding.
MIndices good_m_indices() {
  MIndices m_indices(384, -1);
  std::fill(m_indices.begin(), m_indices.begin() + 128, 0);
  std::fill(m_indices.begin() + 128, m_indices.begin() + 200, 2);
  return m_indices;
}

std::string complaint(const MIndices& m_indices, std::int32_t groups) {
  const auto checked = jit::check_m_indices(m_indices, groups);
  return checked ? "" : checked.error().message;
}

}  // namespace

TEST_CASE("m_indices that follow the rule are accepted, with padding anywhere") {
  MIndices m_indices = good_m_indices();
  CHECK(complaint(m_indices, 3).empty());
  m_indices[0] = m_indices[50] = -1;
  CHECK(complaint(m_indices, 3).empty());
  CHECK(complaint(MIndices(384, -1), 1).empty());
  CHECK(complaint({}, 1).empty());
  CHECK(complaint(MIndices(100, 0), 1).empty());
}

TEST_CASE("An m_indices value that is not a group is reported with its row") {
  MIndices m_indices = good_m_indices();
  CHECK(complaint(m_indices, 2).find("row 128 has group 2") != std::string::npos);
  m_indices[130] = -2;
  CHECK(complaint(m_indices, 3).find("row 130 has group -2") != std::string::npos);
}

TEST_CASE("A segment boundary inside a block is reported with the block's first row") {
  MIndices m_indices = good_m_indices();
  m_indices[127] = 1;
  CHECK(complaint(m_indices, 3).find("row 127 has group 1") != std::string::npos);
  m_indices = good_m_indices();
  m_indices[255] = 1;
  const std::string message = complaint(m_indices, 3);
  CHECK(message.find("row 255") != std::string::npos);
  CHECK(message.find("starts at row 128 and belongs to group 2") != std::string::npos);
}
