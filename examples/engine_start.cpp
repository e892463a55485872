// How an engine starts: it loads every kernel that a layer can need before the first request. The first run compiles
// the kernels, about a second each. Later runs, on any machine that has the cabinet, find them.
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "cubinet/cubinet.hpp"

static void check(cudaError_t result) {
  if (result != cudaSuccess) throw std::runtime_error(cudaGetErrorString(result));
}

int main() try {
  // The start. value() throws if the start failed; an engine can check ok() and error() instead. A Request in place of
  // the list of problems names the model and the server's launch command.
  const cubinet::Problem problem{.layout = cubinet::Layout::masked, .n = 1536, .k = 2048, .groups = 16};
  const cubinet::Started engine =
      cubinet::start(cubinet::ServiceOptions::from_environment(), {{problem, {1, 4096}}}).value();
  const cubinet::GroupedGemm& gemm = engine.gemms.front();
  const cubinet::StartReport& report = engine.report;
  std::printf("kernels: %lld loaded, %lld of them compiled first, made by %s; %.0f ms %s\n",
              static_cast<long long>(report.loaded), static_cast<long long>(report.compiled), report.compilers.c_str(),
              report.milliseconds, report.warning.c_str());

  // The engine's memory: bf16 tokens (groups, capacity, K), weights (groups, N, K), result (groups, capacity, N).
  constexpr std::int64_t kCapacity = 128;
  const std::vector<std::int32_t> valid_rows(16, 20);
  void *tokens = nullptr, *weights = nullptr, *result = nullptr, *masked_m = nullptr;
  check(cudaMalloc(&tokens, 16 * kCapacity * 2048 * 2));
  check(cudaMalloc(&weights, 16 * 1536 * 2048 * 2));
  check(cudaMalloc(&result, 16 * kCapacity * 1536 * 2));
  check(cudaMalloc(&masked_m, valid_rows.size() * sizeof(std::int32_t)));
  check(cudaMemcpy(masked_m, valid_rows.data(), valid_rows.size() * sizeof(std::int32_t), cudaMemcpyHostToDevice));

  // The forward pass: a launch takes no lock, allocates nothing and may be captured into a CUDA graph.
  const auto* counts = static_cast<const std::int32_t*>(masked_m);
  gemm.launch(cubinet::MaskedArguments{tokens, weights, result, counts, kCapacity, 20}, nullptr).value();
  check(cudaDeviceSynchronize());
  std::printf("the layer ran\n");
} catch (const std::exception& error) {
  std::fprintf(stderr, "engine_start: %s\n", error.what());
  return 1;
}
