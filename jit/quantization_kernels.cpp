#include "jit/quantization_kernels.hpp"

#include <algorithm>
#include <utility>

#include "cubinet/scales.hpp"

namespace cubinet::jit {
namespace {

// What the template shares out to a CTA.
constexpr unsigned kThreads = 256;
constexpr std::int64_t kSegments = 32;  // blocks of 128 columns of a row
constexpr std::int64_t kTileRows = 64;
constexpr std::int64_t kTileBlocks = 32;

// CTAs of 256 threads that are resident on an SM at most: more would queue where striding is free.
constexpr std::int64_t kResident = 8;

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

constexpr const char* kTransposeScales = "fp8_transpose_scales";
constexpr const char* kQuantizeRows = "fp8_quantize_rows";
constexpr const char* kQuantizeWeights = "fp8_quantize_weights";

}  // namespace

Expected<QuantizationKernels> QuantizationKernels::load(std::shared_ptr<const DeviceContext> device,
                                                        std::string_view cubin, const std::string& architecture) {
  auto module = LoadedModule::load(device, cubin, architecture);
  if (!module) return propagate(module);
  QuantizationKernels kernels(std::move(device), std::move(*module));
  if (auto found = kernels.find_functions(); !found) return propagate(found);
  return kernels;
}

QuantizationKernels::QuantizationKernels(std::shared_ptr<const DeviceContext> device, LoadedModule module) noexcept
    : device_(std::move(device)), module_(std::move(module)) {}

Expected<void> QuantizationKernels::find_functions() {
  const EntryPoint entries[] = {
      {&transpose_scales_, kTransposeScales}, {&quantize_rows_, kQuantizeRows}, {&quantize_weights_, kQuantizeWeights}};
  return module_.functions(entries);
}

Expected<void> QuantizationKernels::launch(CUfunction function, const char* name, std::int64_t work, void** parameters,
                                           CUstream stream) const {
  const Driver& driver = device_->driver();
  const auto ctas = static_cast<unsigned>(std::min(work, device_->info().num_sms * kResident));
  const CUresult result = driver.cuLaunchKernel(function, ctas, 1, 1, kThreads, 1, 1, 0, stream, parameters, nullptr);
  return result == CUDA_SUCCESS ? Expected<void>{} : driver.check(result, std::string("launching ") + name);
}

Expected<void> QuantizationKernels::transpose_scales(CUdeviceptr in, CUdeviceptr out, CUdeviceptr row_counts,
                                                     std::int64_t groups, std::int64_t rows, std::int64_t blocks,
                                                     CUstream stream) const {
  const std::int64_t tiles = groups * ceil_div(aligned_scale_rows(rows), kTileRows) * ceil_div(blocks, kTileBlocks);
  long long sizes[] = {groups, rows, blocks};
  void* parameters[] = {&in, &out, &row_counts, &sizes[0], &sizes[1], &sizes[2]};
  return launch(transpose_scales_, kTransposeScales, tiles, parameters, stream);
}

Expected<void> QuantizationKernels::quantize_rows(CUdeviceptr x, CUdeviceptr q, const ScalePlaces& scales,
                                                  std::int64_t rows, std::int64_t k, CUstream stream) const {
  CUdeviceptr data = scales.data;
  long long sizes[] = {rows, k, scales.group_rows, scales.group_stride, scales.row_stride, scales.block_stride};
  void* parameters[] = {&x, &q, &data, &sizes[0], &sizes[1], &sizes[2], &sizes[3], &sizes[4], &sizes[5]};
  const std::int64_t work = ceil_div(rows * scale_blocks(k), kSegments);
  return launch(quantize_rows_, kQuantizeRows, work, parameters, stream);
}

Expected<void> QuantizationKernels::quantize_weights(CUdeviceptr w, CUdeviceptr q, CUdeviceptr scales,
                                                     std::int64_t groups, std::int64_t n, std::int64_t k,
                                                     CUstream stream) const {
  long long sizes[] = {groups, n, k};
  void* parameters[] = {&w, &q, &scales, &sizes[0], &sizes[1], &sizes[2]};
  return launch(quantize_weights_, kQuantizeWeights, groups * scale_blocks(n) * scale_blocks(k), parameters, stream);
}

}  // namespace cubinet::jit
