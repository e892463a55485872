// A masked FP8 grouped GEMM of BF16 tensors: weights are quantized once, at load, and tokens before each launch. The
// quantizer writes column-major scales, which the kernels read, so that a launch does not have to transpose them.
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "cubinet/cubinet.hpp"

constexpr std::int64_t kGroups = 16, kN = 1536, kK = 2048, kCapacity = 128;

static void check(cudaError_t result) {
  if (result != cudaSuccess) throw std::runtime_error(cudaGetErrorString(result));
}

// Zeroed device memory, which is never freed.
static void* reserve(std::int64_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, static_cast<std::size_t>(bytes)));
  check(cudaMemset(memory, 0, static_cast<std::size_t>(bytes)));
  return memory;
}

int main() try {
  cubinet::Service service = cubinet::Service::open(cubinet::ServiceOptions::from_environment()).value();
  const cubinet::Problem problem{cubinet::DataType::fp8, cubinet::Layout::masked, kN, kK, kGroups};
  const cubinet::GroupedGemm gemm = service.prepare(problem, {1, 4096}).value();
  const cubinet::Quantizer quantizer = service.prepare_quantizer().value();

  // At load: weights (groups, N, K), with one scale per 128 x 128 block.
  const void* weights = reserve(kGroups * kN * kK * 2);
  void* fp8_weights = reserve(kGroups * kN * kK);
  const auto* weight_values =
      static_cast<const float*>(reserve(kGroups * cubinet::scale_blocks(kN) * cubinet::scale_blocks(kK) * 4));
  const cubinet::ScaleTensor weight_scales = cubinet::weight_scales(weight_values, kGroups, kN, kK);
  quantizer.quantize_weights(weights, kGroups, kN, kK, fp8_weights, weight_scales, nullptr).value();

  // Before each launch: tokens (groups, capacity, K), with one scale per row and 128 of K.
  const void* tokens = reserve(kGroups * kCapacity * kK * 2);
  void* fp8_tokens = reserve(kGroups * kCapacity * kK);
  const auto* token_values = static_cast<const float*>(reserve(cubinet::scale_workspace_bytes(kGroups, kCapacity, kK)));
  const cubinet::ScaleTensor token_scales = cubinet::column_major_scales(token_values, kCapacity, kK, kGroups);
  quantizer.quantize_rows(tokens, kGroups * kCapacity, kK, fp8_tokens, token_scales, nullptr).value();

  const std::vector<std::int32_t> valid_rows(kGroups, 20);
  void* masked_m = reserve(kGroups * 4);
  check(cudaMemcpy(masked_m, valid_rows.data(), kGroups * 4, cudaMemcpyHostToDevice));
  cubinet::MaskedArguments arguments;
  arguments.a = fp8_tokens;
  arguments.b = fp8_weights;
  arguments.d = reserve(kGroups * kCapacity * kN * 2);  // bf16
  arguments.masked_m = static_cast<const std::int32_t*>(masked_m);
  arguments.capacity = kCapacity;
  arguments.expected_m = 20;
  arguments.a_scales = token_scales;  // row_major_scales() work, too, with arguments.workspace
  arguments.b_scales = weight_scales;
  gemm.launch(arguments, nullptr).value();
  check(cudaDeviceSynchronize());
  std::printf("the layer ran\n");
} catch (const std::exception& error) {
  std::fprintf(stderr, "fp8_grouped_gemm: %s\n", error.what());
  return 1;
}
