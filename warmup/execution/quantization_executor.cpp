#include "warmup/execution/quantization_executor.hpp"

#include <random>
#include <utility>
#include <vector>

#include "cubinet/scales.hpp"
#include "warmup/execution/host_quantization.hpp"

namespace cubinet::warmup {
namespace {

constexpr std::int64_t kRows = 131;
constexpr std::int64_t kGroups = 2;
constexpr std::int64_t kN = 200;
constexpr std::int64_t kK = 384;
constexpr std::int64_t kBlocks = scale_blocks(kK);
constexpr std::int64_t kWeightScales = kGroups * scale_blocks(kN) * kBlocks;

// Byte offsets in the allocation. Each offset has the alignment that its tensor needs.
struct Offsets {
  std::int64_t x = 0;
  std::int64_t w = x + 2 * kRows * kK;
  std::int64_t x_q = w + 2 * kGroups * kN * kK;
  std::int64_t w_q = x_q + kRows * kK;
  std::int64_t columns = w_q + kGroups * kN * kK;
  std::int64_t x_scales = columns + scale_workspace_bytes(1, kRows, kK);
  std::int64_t w_scales = x_scales + 4 * kRows * kBlocks;
  std::int64_t end = w_scales + 4 * kWeightScales;
};
constexpr Offsets kAt;
static_assert(kAt.w % 16 == 0 && kAt.x_q % 16 == 0 && kAt.w_q % 16 == 0 && kAt.columns % 16 == 0);

// Random BF16 numbers of either sign, with magnitudes between 2^-20 and 2^20.
std::vector<std::uint16_t> draw(std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::uniform_int_distribution<unsigned> exponent(127 - 20, 127 + 19);
  std::vector<std::uint16_t> numbers(static_cast<std::size_t>(count));
  for (std::uint16_t& number : numbers) {
    number = static_cast<std::uint16_t>((engine() & 0x807fu) | exponent(engine) << 7);
  }
  return numbers;
}

// Brings row-major scales of kRows rows into column-major order. Rows that exist for alignment only are 0.
std::vector<float> transposed_on_host(const std::vector<float>& scales) {
  const auto column = static_cast<std::size_t>(aligned_scale_rows(kRows));
  constexpr auto blocks = static_cast<std::size_t>(kBlocks);
  std::vector<float> columns(column * blocks);
  for (std::size_t i = 0; i < scales.size(); ++i) columns[i % blocks * column + i / blocks] = scales[i];
  return columns;
}

// One execution. Holds the inputs on the host.
class QuantizationExecution {
 public:
  QuantizationExecution(ExecutorContext& context, CUdeviceptr memory)
      : context_(context), driver_(context.device.driver()), memory_(memory) {}

  Expected<std::string> run() {
    return launch()
        .and_then([&] { return context_.watch.wait("fp8_quantization", context_.stream); })
        .and_then([&] { return context_.watch.used(); })
        .and_then([&](std::int64_t) { return compare(); });
  }

 private:
  [[nodiscard]] CUdeviceptr at(std::int64_t offset) const { return memory_ + static_cast<CUdeviceptr>(offset); }

  Expected<void> upload(std::int64_t offset, const std::vector<std::uint16_t>& numbers) {
    return driver_.check(driver_.cuMemcpyHtoDAsync(at(offset), numbers.data(), 2 * numbers.size(), context_.stream),
                         "copying to the device");
  }

  // The outputs are first filled with bytes of 0xff, which are NaN in every type.
  Expected<void> launch() {
    const jit::QuantizationKernels& kernels = *context_.quantization;
    const jit::ScalePlaces scales{at(kAt.x_scales), kRows, 0, kBlocks, 1};
    const auto outputs = static_cast<std::size_t>(kAt.end - kAt.x_q);
    context_.launches += 3;
    return upload(kAt.x, x_)
        .and_then([&] { return upload(kAt.w, w_); })
        .and_then([&] {
          return driver_.check(driver_.cuMemsetD8Async(at(kAt.x_q), 0xff, outputs, context_.stream), "poisoning");
        })
        .and_then([&] { return kernels.quantize_rows(at(kAt.x), at(kAt.x_q), scales, kRows, kK, context_.stream); })
        .and_then([&] {
          return kernels.quantize_weights(at(kAt.w), at(kAt.w_q), at(kAt.w_scales), kGroups, kN, kK, context_.stream);
        })
        .and_then([&] {
          return kernels.transpose_scales(at(kAt.x_scales), at(kAt.columns), 0, 1, kRows, kBlocks, context_.stream, 0);
        });
  }

  Expected<std::string> compare() {
    const HostQuantized rows = quantize_rows_on_host(x_, kRows, kK);
    const HostQuantized weights = quantize_weights_on_host(w_, kGroups, kN, kK);
    return expect("quantized rows", kAt.x_q, rows.q)
        .and_then([&] { return expect("scales of rows", kAt.x_scales, rows.scales); })
        .and_then([&] { return expect("quantized weights", kAt.w_q, weights.q); })
        .and_then([&] { return expect("scales of weights", kAt.w_scales, weights.scales); })
        .and_then([&] { return expect("transposed scales", kAt.columns, transposed_on_host(rows.scales)); })
        .map([&] { return std::move(complaint_); });
  }

  // Sets complaint_, if it is empty, when the device holds other bits than `wanted`.
  template <class T>
  Expected<void> expect(const char* what, std::int64_t offset, const std::vector<T>& wanted) {
    std::vector<T> found(wanted.size());
    const auto read = driver_.check(driver_.cuMemcpyDtoH(found.data(), at(offset), found.size() * sizeof(T)), what);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < found.size(); ++i) wrong += !same_bits(found[i], wanted[i]);
    if (wrong > 0 && complaint_.empty()) {
      complaint_ = std::string(what) + ": " + std::to_string(wrong) + " of " + std::to_string(found.size()) +
                   " differ from the host's";
    }
    return read;
  }

  static bool same_bits(std::uint8_t one, std::uint8_t other) { return one == other; }
  static bool same_bits(float one, float other) { return bits_of(one) == bits_of(other); }

  ExecutorContext& context_;
  const jit::Driver& driver_;
  CUdeviceptr memory_;
  std::vector<std::uint16_t> x_ = draw(kRows * kK, context_.seed);
  std::vector<std::uint16_t> w_ = draw(kGroups * kN * kK, context_.seed + 1);
  std::string complaint_;
};

}  // namespace

QuantizationExecutor::QuantizationExecutor(ExecutorContext& context, DeviceBuffer memory)
    : context_(&context), memory_(std::move(memory)) {}

std::int64_t QuantizationExecutor::required_bytes() { return kAt.end; }

Expected<QuantizationExecutor> QuantizationExecutor::open(ExecutorContext& context) {
  DeviceBuffer memory;
  return memory.reserve(context.device.driver(), static_cast<std::size_t>(required_bytes()))
      .and_then([&] { return context.watch.used(); })
      .map([&](std::int64_t) { return QuantizationExecutor(context, std::move(memory)); });
}

Expected<std::string> QuantizationExecutor::execute() {
  return QuantizationExecution(*context_, memory_.address()).run();
}

}  // namespace cubinet::warmup
