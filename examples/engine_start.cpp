// How an engine starts and runs: every kernel that its layers can need is ready before the first request.
//   engine_start         the first run compiles (about half a second a kernel); every later one finds its kernels
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "cubinet/cubinet.hpp"

namespace {

// The first GEMM of Qwen3-30B-A3B's experts (N = 2 * 768, K = 2048), 16 of them on this GPU.
constexpr cubinet::Problem kPrefill{
    .layout = cubinet::Layout::contiguous, .n = 1536, .k = 2048, .groups = 16};
constexpr cubinet::Problem kDecode{.layout = cubinet::Layout::masked, .n = 1536, .k = 2048, .groups = 16};
constexpr std::int64_t kRows = 16 * 128;     // prefill: rows of all experts, 128 each
constexpr std::int64_t kCapacity = 128;      // decode: rows that an expert has room for
constexpr std::int64_t kElement = 2;         // bytes of a bf16

void check(cudaError_t result) {
  if (result != cudaSuccess) throw std::runtime_error(cudaGetErrorString(result));
}

void* zeros_on_device(std::int64_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, static_cast<std::size_t>(bytes)));
  check(cudaMemset(memory, 0, static_cast<std::size_t>(bytes)));
  return memory;
}

const std::int32_t* on_device(const std::vector<std::int32_t>& values) {
  void* memory = zeros_on_device(static_cast<std::int64_t>(values.size() * sizeof(std::int32_t)));
  check(cudaMemcpy(memory, values.data(), values.size() * sizeof(std::int32_t), cudaMemcpyHostToDevice));
  return static_cast<const std::int32_t*>(memory);
}

cubinet::GroupedGemm prepare(cubinet::Service& service, const char* what, const cubinet::Problem& problem) {
  cubinet::PrepareReport report;
  cubinet::GroupedGemm gemm = service.prepare(problem, {1, 16384}, &report).value();
  std::printf("%s: %lld kernels found, %lld compiled, %.1f ms %s\n", what, static_cast<long long>(report.found),
              static_cast<long long>(report.compiled), report.milliseconds, report.warning.c_str());
  return gemm;
}

void run() {
  // At engine start. value() throws the error's message where there is no value; an engine may look at ok() instead.
  cubinet::Service service = cubinet::Service::open(cubinet::ServiceOptions::from_environment()).value();
  const cubinet::GroupedGemm prefill = prepare(service, "prefill", kPrefill);
  const cubinet::GroupedGemm decode = prepare(service, "decode", kDecode);

  // Weights (groups, N, K), tokens, and room for the result: the engine's own memory. Both problems have as many rows.
  const void* weights = zeros_on_device(kPrefill.groups * kPrefill.n * kPrefill.k * kElement);
  const void* tokens = zeros_on_device(kRows * kPrefill.k * kElement);
  void* result = zeros_on_device(kRows * kPrefill.n * kElement);
  std::vector<std::int32_t> labels;
  for (std::int32_t row = 0; row < kRows; ++row) labels.push_back(row / cubinet::contiguous_alignment());
  const std::int32_t* m_indices = on_device(labels);
  const std::int32_t* masked_m = on_device(std::vector<std::int32_t>(16, 20));
  prefill.check_labels(m_indices, kRows).value();  // while debugging only: it waits for the device

  // In the forward pass: no lock, no allocation, no look-up by name; may be captured into a CUDA graph.
  prefill.launch(cubinet::ContiguousArguments{tokens, weights, result, m_indices, kRows}, nullptr).value();
  decode.launch(cubinet::MaskedArguments{tokens, weights, result, masked_m, kCapacity, 20}, nullptr).value();
  check(cudaDeviceSynchronize());
  std::printf("both layers ran\n");
}

}  // namespace

int main() {
  try {
    run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "engine_start: %s\n", error.what());
    return 1;
  }
  return 0;
}
