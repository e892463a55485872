// Tests of all forms of m_indices that are allowed.
#include <algorithm>

#include "gpu/gpu.hpp"
#include "warmup/execution/device_resources.hpp"

namespace cubinet::tests {
namespace {

using MIndices = std::vector<std::int32_t>;

// Runs a problem with these m_indices, and again with each other configuration of the selection: -1 is appended until M
// is large enough for it. N and K are not multiples of any tile size.
std::string complaint_for(Gpu& gpu, DataType type, const MIndices& m_indices, std::int32_t groups = 5) {
  const Problem problem{type, Layout::contiguous, 520, 7 * depth(type), groups};
  const auto gemm = gpu.prepare(problem, {1, kLargestM});
  auto complaint = gpu.complaint(gemm, contiguous_plan(problem, m_indices));
  for (const std::int64_t m : selecting_ms(problem)) {
    if (!complaint.empty()) break;
    if (m <= static_cast<std::int64_t>(m_indices.size())) continue;
    MIndices longer = m_indices;
    longer.resize(static_cast<std::size_t>(m), -1);
    complaint = gpu.complaint(gemm, contiguous_plan(problem, longer));
    if (!complaint.empty()) complaint += " at M " + std::to_string(m);
  }
  return complaint;
}

void append(MIndices& m_indices, std::size_t count, std::int32_t group) {
  m_indices.insert(m_indices.end(), count, group);
}

}  // namespace

TEST_CASE("rows of -1 at the end of a segment are not written", "[m_indices]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  CHECK(complaint_for(gpu, type, padded_m_indices({1, 127, 129, 255, 300})) == "");
}

TEST_CASE("whole blocks of -1 between segments are not written", "[m_indices]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  MIndices m_indices;
  append(m_indices, 128, 0);
  append(m_indices, 256, -1);
  append(m_indices, 200, 1);
  append(m_indices, 56 + 128, -1);
  append(m_indices, 384, 4);
  CHECK(complaint_for(gpu, type, m_indices) == "");
}

TEST_CASE("a tail of -1 longer than the data is not written", "[m_indices]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  MIndices m_indices;
  append(m_indices, 300, 2);
  append(m_indices, 84 + 5000, -1);
  CHECK(complaint_for(gpu, type, m_indices) == "");
}

TEST_CASE("with only -1 in m_indices nothing is written", "[m_indices]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  CHECK(complaint_for(gpu, type, MIndices(1024, -1)) == "");
  CHECK(complaint_for(gpu, type, MIndices(3, -1)) == "");
}

TEST_CASE("a launch with zero rows is no error, and later launches work", "[m_indices]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  CHECK(complaint_for(gpu, type, {}) == "");
  CHECK(complaint_for(gpu, type, MIndices(128, 0)) == "");
}

TEST_CASE("rows of -1 scattered inside a block are not written", "[m_indices]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  Random random(gpu.seed());
  auto m_indices = padded_m_indices({200, 40, 0, 700, 129});
  for (auto& group : m_indices) group = random.once_in(3) ? -1 : group;
  INFO("seed " << gpu.seed());
  CHECK(complaint_for(gpu, type, m_indices) == "");
}

TEST_CASE("a block that begins with -1 is computed correctly", "[m_indices]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  MIndices m_indices;
  append(m_indices, 70, -1);
  append(m_indices, 58, 3);
  append(m_indices, 1, -1);
  append(m_indices, 127, 1);
  CHECK(complaint_for(gpu, type, m_indices) == "");
}

TEST_CASE("an M that is not a multiple of the alignment is computed correctly", "[m_indices]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  for (const std::size_t m : {1u, 7u, 127u, 129u, 300u, 1000u}) {
    INFO("m " << m);
    CHECK(complaint_for(gpu, type, MIndices(m, 1)) == "");
  }
}

TEST_CASE("m_indices with the alignment of an int are accepted", "[m_indices]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const Problem problem{type, Layout::contiguous, 520, 7 * depth(type), 5};
  const auto gemm = gpu.prepare(problem, {1, kLargestM});
  const MIndices m_indices = padded_m_indices({1, 127, 129, 255, 300});
  const std::size_t bytes = m_indices.size() * sizeof(std::int32_t);
  warmup::DeviceBuffer copy;
  REQUIRE(copy.reserve(gpu.driver(), bytes + 3 * sizeof(std::int32_t)));
  auto& verifier = gpu.verifier();
  for (std::size_t shift = 1; shift <= 3; ++shift) {
    INFO("shifted by " << shift);
    const CUdeviceptr address = copy.address() + shift * sizeof(std::int32_t);
    REQUIRE(verifier.load(contiguous_plan(problem, m_indices)));
    REQUIRE(gpu.driver().cuMemcpyHtoD(address, m_indices.data(), bytes) == CUDA_SUCCESS);
    const auto verdict = verifier.run("shifted m_indices", [&](CUstream stream) -> Expected<void> {
      auto arguments = verifier.contiguous_arguments();
      arguments.m_indices = reinterpret_cast<const std::int32_t*>(address);
      const auto status = gemm.launch(arguments, stream);
      if (!status) return fail(status.error());
      return {};
    });
    REQUIRE(verdict);
    CHECK(verdict->complaint == "");
  }
}

TEST_CASE("blocks of a group may be separated and in any order", "[m_indices]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  MIndices m_indices;
  for (const std::int32_t group : {3, 0, 3, 3, 1, 0, 4, 1, 1, 1, 2, 3}) append(m_indices, 128, group);
  CHECK(complaint_for(gpu, type, m_indices) == "");
}

TEST_CASE("one group may hold all rows of a long input", "[m_indices]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  CHECK(complaint_for(gpu, type, MIndices(12000, 4)) == "");
  CHECK(complaint_for(gpu, type, MIndices(5000, 0), 1) == "");
}

}  // namespace cubinet::tests
