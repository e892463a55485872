// Tests that the quantization of BF16 to FP8 on the device is bit-identical to that on the host.
#include <algorithm>
#include <cmath>

#include "gpu/gpu.hpp"
#include "gpu/quantization.hpp"
#include "warmup/execution/device_resources.hpp"

namespace cubinet::tests {
namespace {

constexpr std::uint8_t kUntouched = 0xa5;

// Device memory with a copy of `values`.
template <class T>
warmup::DeviceBuffer upload(Gpu& gpu, const std::vector<T>& values) {
  warmup::DeviceBuffer buffer;
  REQUIRE(buffer.reserve(gpu.driver(), values.size() * sizeof(T)));
  REQUIRE(gpu.driver().cuMemcpyHtoD(buffer.address(), values.data(), values.size() * sizeof(T)) == CUDA_SUCCESS);
  // Wait for the copy: the stream of the verifier does not wait for other streams.
  REQUIRE(gpu.driver().cuCtxSynchronize() == CUDA_SUCCESS);
  return buffer;
}

template <class T>
std::vector<T> download(Gpu& gpu, const warmup::DeviceBuffer& buffer, std::size_t count) {
  std::vector<T> values(count);
  REQUIRE(gpu.driver().cuMemcpyDtoH(values.data(), buffer.address(), count * sizeof(T)) == CUDA_SUCCESS);
  return values;
}

warmup::DeviceBuffer untouched(Gpu& gpu, std::size_t bytes) {
  return upload(gpu, std::vector<std::uint8_t>(bytes, kUntouched));
}

float* floats(const warmup::DeviceBuffer& buffer) { return reinterpret_cast<float*>(buffer.address()); }

void* pointer(const warmup::DeviceBuffer& buffer) { return reinterpret_cast<void*>(buffer.address()); }

// The expected contents of the memory of `scales`: the scales at the addresses of `tensor`, and elsewhere the bytes
// that must not be written.
std::vector<float> expected_scales(const ScaleTensor& tensor, const std::vector<float>& scales, std::size_t stored) {
  std::vector<float> expected(stored);
  std::vector<std::uint8_t> bytes(stored * sizeof(float), kUntouched);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::uint8_t*>(expected.data()));
  const bool grouped = tensor.rank == 3;
  const std::int64_t groups = grouped ? tensor.shape[0] : 1;
  const std::size_t first = grouped ? 1 : 0;
  const std::int64_t rows = tensor.shape[first];
  const std::int64_t blocks = tensor.shape[first + 1];
  for (std::int64_t i = 0; i < groups * rows * blocks; ++i) {
    const std::int64_t group = i / (rows * blocks);
    const std::int64_t at = (grouped ? group * tensor.strides[0] : 0) + i / blocks % rows * tensor.strides[first] +
                            i % blocks * tensor.strides[first + 1];
    expected[static_cast<std::size_t>(at)] = scales[static_cast<std::size_t>(i)];
  }
  return expected;
}

bool same_bits(const std::vector<float>& one, const std::vector<float>& other) {
  return one.size() == other.size() &&
         std::equal(one.begin(), one.end(), other.begin(), [](float x, float y) { return bits_of(x) == bits_of(y); });
}

// Quantizes rows of a random tensor. `groups` is 0 for scales of rank 2.
void check_rows(Gpu& gpu, std::int64_t rows, std::int64_t k, std::int64_t groups, ScaleOrder order) {
  const auto quantizer = gpu.prepare_quantizer();
  Random random(gpu.seed());
  const auto x = draw_tensor(random, rows, k);
  const auto host = quantize_rows_on_host(x, rows, k);
  const auto input = upload(gpu, x);
  const auto q = untouched(gpu, x.size());
  const std::int64_t group_rows = groups == 0 ? rows : rows / groups;
  const auto stored =
      static_cast<std::size_t>(scale_workspace_bytes(std::max<std::int64_t>(groups, 1), group_rows, k) / 4);
  const auto scales = untouched(gpu, stored * sizeof(float));
  const ScaleTensor tensor = order == ScaleOrder::row_major
                                 ? row_major_scales(floats(scales), group_rows, k, groups)
                                 : column_major_scales(floats(scales), group_rows, k, groups);
  auto& verifier = gpu.verifier();
  REQUIRE(outcome(quantizer.quantize_rows(pointer(input), rows, k, pointer(q), tensor, verifier.stream())));
  REQUIRE(verifier.wait("quantizing rows"));
  CHECK(download<std::uint8_t>(gpu, q, x.size()) == host.q);
  CHECK(same_bits(download<float>(gpu, scales, stored), expected_scales(tensor, host.scales, stored)));
}

void check_weights(Gpu& gpu, std::int64_t groups, std::int64_t n, std::int64_t k) {
  const auto quantizer = gpu.prepare_quantizer();
  Random random(gpu.seed() + 1);
  const auto w = draw_tensor(random, groups * n, k);
  const auto host = quantize_weights_on_host(w, groups, n, k);
  const auto input = upload(gpu, w);
  const auto q = untouched(gpu, w.size());
  const auto scales = untouched(gpu, host.scales.size() * sizeof(float));
  auto& verifier = gpu.verifier();
  REQUIRE(outcome(quantizer.quantize_weights(pointer(input), groups, n, k, pointer(q),
                                             weight_scales(floats(scales), groups, n, k), verifier.stream())));
  REQUIRE(verifier.wait("quantizing weights"));
  CHECK(download<std::uint8_t>(gpu, q, w.size()) == host.q);
  CHECK(same_bits(download<float>(gpu, scales, host.scales.size()), host.scales));
}

// An FP8 problem whose operands are quantized from the BF16 operands of the verifier.
class Quantized {
 public:
  Quantized(Gpu& gpu, const warmup::RowPlan& bf16) : quantizer_(gpu.prepare_quantizer()), plan_(bf16) {
    plan_.problem.data_type = DataType::fp8;
    const Problem& p = plan_.problem;
    rows_ = p.layout == Layout::masked ? plan_.capacity : plan_.rows;
    groups_ = p.layout == Layout::masked ? p.groups : 0;
    workspace_bytes_ = scale_workspace_bytes(std::max<std::int64_t>(groups_, 1), rows_, p.k);
    const auto reserve = [&](warmup::DeviceBuffer& buffer, std::int64_t bytes) {
      REQUIRE(buffer.reserve(gpu.driver(), static_cast<std::size_t>(bytes)));
    };
    reserve(a_, plan_.rows * p.k);
    reserve(b_, p.groups * p.n * p.k);
    reserve(a_scales_, workspace_bytes_);
    reserve(b_scales_, 4 * p.groups * scale_blocks(p.n) * scale_blocks(p.k));
    reserve(workspace_, workspace_bytes_);
  }

  // Quantizes `a` and `b` and multiplies them.
  template <class Arguments>
  Expected<void> launch(const GroupedGemm& gemm, Arguments arguments, ScaleOrder order, CUstream stream) const {
    const Problem& p = plan_.problem;
    const auto make = order == ScaleOrder::row_major ? row_major_scales : column_major_scales;
    const ScaleTensor a_scales = make(floats(a_scales_), rows_, p.k, groups_);
    const ScaleTensor b_scales = weight_scales(floats(b_scales_), p.groups, p.n, p.k);
    const auto quantized =
        outcome(quantizer_.quantize_rows(arguments.a, plan_.rows, p.k, pointer(a_), a_scales, stream)).and_then([&] {
          return outcome(quantizer_.quantize_weights(arguments.b, p.groups, p.n, p.k, pointer(b_), b_scales, stream));
        });
    if (!quantized) return quantized;
    arguments.a = pointer(a_);
    arguments.b = pointer(b_);
    arguments.a_scales = a_scales;
    arguments.b_scales = b_scales;
    if (order == ScaleOrder::row_major) arguments.workspace = {pointer(workspace_), workspace_bytes_};
    return outcome(gemm.launch(arguments, stream));
  }

 private:
  Quantizer quantizer_;
  warmup::RowPlan plan_;
  std::int64_t rows_ = 0;
  std::int64_t groups_ = 0;
  std::int64_t workspace_bytes_ = 0;
  warmup::DeviceBuffer a_, b_, a_scales_, b_scales_, workspace_;
};

// Quantizes BF16 tensors, multiplies them, and compares the result with their BF16 product. In `bf16` every group that
// is not empty has at least 64 rows.
void check_product(Gpu& gpu, const warmup::RowPlan& bf16) {
  Problem problem = bf16.problem;
  problem.data_type = DataType::fp8;
  const auto gemm = gpu.prepare(problem, {1, kLargestM});
  auto& verifier = gpu.verifier();
  const Quantized quantized(gpu, bf16);
  for (const ScaleOrder order : orders(DataType::fp8)) {
    INFO(describe(bf16) << ", " << name(order) << " scales");
    REQUIRE(verifier.load(bf16));
    const auto verdict = verifier.run("quantized operands", [&](CUstream stream) {
      return bf16.problem.layout == Layout::masked
                 ? quantized.launch(gemm, verifier.masked_arguments(100), order, stream)
                 : quantized.launch(gemm, verifier.contiguous_arguments(), order, stream);
    });
    REQUIRE(verdict);
    CHECK(verdict->worst_difference < 1e-3);
    CHECK(verdict->writes.stray == 0u);
    CHECK(verdict->writes.unwritten == 0u);
    CHECK(verdict->guard_writes == 0u);
    for (const auto& sums : verdict->groups) CHECK(sums.nans == 0u);
  }
}

}  // namespace

TEST_CASE("rows are quantized as on the host, with row-major and column-major scales", "[quantizer][small]") {
  CUBINET_GPU(gpu);
  if (!gpu.wants(DataType::fp8)) return;
  for (const ScaleOrder order : orders(DataType::fp8)) {
    for (const auto& [rows, k] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 128}, {2, 7168}, {5, 384}, {131, 1024}, {1000, 256}}) {
      INFO(rows << " rows, K " << k << ", " << name(order) << " scales");
      check_rows(gpu, rows, k, 0, order);
    }
    INFO("groups, " << name(order) << " scales");
    check_rows(gpu, 3 * 37, 512, 3, order);
    check_rows(gpu, 8, 128, 8, order);
  }
}

TEST_CASE("weights are quantized as on the host, also with a partial last block of N", "[quantizer][small]") {
  CUBINET_GPU(gpu);
  if (!gpu.wants(DataType::fp8)) return;
  for (const std::int64_t n : {8, 24, 128, 192, 576}) {
    INFO("N " << n);
    check_weights(gpu, 3, n, 384);
  }
  check_weights(gpu, 1, 136, 7168);
}

TEST_CASE("an empty quantization of rows or weights is no error", "[quantizer]") {
  CUBINET_GPU(gpu);
  if (!gpu.wants(DataType::fp8)) return;
  const auto quantizer = gpu.prepare_quantizer();
  const auto memory = untouched(gpu, 1024);
  auto& verifier = gpu.verifier();
  CHECK(quantizer.quantize_rows(pointer(memory), 0, 128, pointer(memory), row_major_scales(floats(memory), 0, 128),
                                verifier.stream()));
  REQUIRE(verifier.wait("nothing"));
  CHECK(download<std::uint8_t>(gpu, memory, 1024) == std::vector<std::uint8_t>(1024, kUntouched));
}

TEST_CASE("quantized operands give the BF16 product within the error of FP8", "[quantizer]") {
  CUBINET_GPU(gpu);
  if (!gpu.wants(DataType::fp8)) return;
  check_product(gpu,
                contiguous_plan({DataType::bf16, Layout::contiguous, 576, 1024, 3}, padded_m_indices({200, 0, 77})));
  check_product(gpu, masked_plan({DataType::bf16, Layout::masked, 1600, 512, 4}, {64, 0, 201, 130}, 201));
}

}  // namespace cubinet::tests
