// What m_indices may look like.
#include <algorithm>

#include "gpu/gpu.hpp"
#include "warmup/execution/device_resources.hpp"

namespace cubinet::tests {
namespace {

using Labels = std::vector<std::int32_t>;

// Runs the labels as they are, and again with each other configuration of the selector: a tail of -1 makes M large
// enough for it. N and K fit no tile.
std::string complaint_for(Gpu& gpu, DataType type, const Labels& labels, std::int32_t groups = 5) {
  const Problem problem{type, Layout::contiguous, 520, 7 * depth(type), groups};
  const auto gemm = gpu.prepare(problem, {1, kLargestM});
  auto complaint = gpu.complaint(gemm, contiguous_plan(problem, labels));
  for (const std::int64_t m : selecting_ms(problem)) {
    if (!complaint.empty()) break;
    if (m <= static_cast<std::int64_t>(labels.size())) continue;
    Labels longer = labels;
    longer.resize(static_cast<std::size_t>(m), -1);
    complaint = gpu.complaint(gemm, contiguous_plan(problem, longer));
    if (!complaint.empty()) complaint += " at M " + std::to_string(m);
  }
  return complaint;
}

void append(Labels& labels, std::size_t count, std::int32_t label) { labels.insert(labels.end(), count, label); }

}  // namespace

TEST_CASE("rows of -1 at the end of a segment are left alone", "[labels]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  CHECK(complaint_for(gpu, type, contiguous_labels({1, 127, 129, 255, 300})) == "");
}

TEST_CASE("whole blocks of -1 between segments are left alone", "[labels]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  Labels labels;
  append(labels, 128, 0);
  append(labels, 256, -1);
  append(labels, 200, 1);
  append(labels, 56 + 128, -1);
  append(labels, 384, 4);
  CHECK(complaint_for(gpu, type, labels) == "");
}

TEST_CASE("a tail of -1 longer than the data is left alone", "[labels]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  Labels labels;
  append(labels, 300, 2);
  append(labels, 84 + 5000, -1);
  CHECK(complaint_for(gpu, type, labels) == "");
}

TEST_CASE("labels of nothing but -1 write nothing", "[labels]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  CHECK(complaint_for(gpu, type, Labels(1024, -1)) == "");
  CHECK(complaint_for(gpu, type, Labels(3, -1)) == "");
}

TEST_CASE("no rows at all are no error and leave the device usable", "[labels]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  CHECK(complaint_for(gpu, type, {}) == "");
  CHECK(complaint_for(gpu, type, Labels(128, 0)) == "");
}

TEST_CASE("rows of -1 scattered inside a block are left alone", "[labels]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  Dice dice(gpu.seed());
  auto labels = contiguous_labels({200, 40, 0, 700, 129});
  for (auto& label : labels) label = dice.once_in(3) ? -1 : label;
  INFO("seed " << gpu.seed());
  CHECK(complaint_for(gpu, type, labels) == "");
}

TEST_CASE("a block may begin with -1", "[labels]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  Labels labels;
  append(labels, 70, -1);
  append(labels, 58, 3);
  append(labels, 1, -1);
  append(labels, 127, 1);
  CHECK(complaint_for(gpu, type, labels) == "");
}

TEST_CASE("M need not be a multiple of the alignment", "[labels]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  for (const std::size_t m : {1u, 7u, 127u, 129u, 300u, 1000u}) {
    INFO("m " << m);
    CHECK(complaint_for(gpu, type, Labels(m, 1)) == "");
  }
}

TEST_CASE("labels need no more than the alignment of an int", "[labels]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  const Problem problem{type, Layout::contiguous, 520, 7 * depth(type), 5};
  const auto gemm = gpu.prepare(problem, {1, kLargestM});
  const Labels labels = contiguous_labels({1, 127, 129, 255, 300});
  const std::size_t bytes = labels.size() * sizeof(std::int32_t);
  warmup::DeviceBuffer copy;
  REQUIRE(copy.reserve(gpu.driver(), bytes + 3 * sizeof(std::int32_t)));
  auto& verifier = gpu.verifier();
  for (std::size_t shift = 1; shift <= 3; ++shift) {
    INFO("shifted by " << shift);
    const CUdeviceptr address = copy.address() + shift * sizeof(std::int32_t);
    REQUIRE(verifier.load(contiguous_plan(problem, labels)));
    REQUIRE(gpu.driver().cuMemcpyHtoD(address, labels.data(), bytes) == CUDA_SUCCESS);
    const auto verdict = verifier.run("shifted labels", [&](CUstream stream) -> Expected<void> {
      auto arguments = verifier.contiguous_arguments();
      arguments.m_indices = reinterpret_cast<const std::int32_t*>(address);
      const auto status = gemm.launch(arguments, stream);
      if (!status) return propagate(status);
      return {};
    });
    REQUIRE(verdict);
    CHECK(verdict->complaint == "");
  }
}

TEST_CASE("a group's blocks need not be neighbours nor in order", "[labels]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  Labels labels;
  for (const std::int32_t group : {3, 0, 3, 3, 1, 0, 4, 1, 1, 1, 2, 3}) append(labels, 128, group);
  CHECK(complaint_for(gpu, type, labels) == "");
}

TEST_CASE("one group may hold all rows of a long input", "[labels]") {
  CUBINET_GPU_AND_TYPE(gpu, type);
  CHECK(complaint_for(gpu, type, Labels(12000, 4)) == "");
  CHECK(complaint_for(gpu, type, Labels(5000, 0), 1) == "");
}

}  // namespace cubinet::tests
