#include "jit/quantization_kernels.hpp"

#include <algorithm>
#include <utility>

#include "cubinet/scales.hpp"
#include "jit/kernel_arguments.hpp"
#include "templates/shared/fp8_quantization.cuh"

namespace cubinet::jit {
namespace {

namespace shared = fp8_quantization;

static_assert(shared::kScaleBlock == scale_block());

// CTAs of 256 threads that an SM can hold. The kernels stride over their work, so more CTAs would only queue.
constexpr std::int64_t kResident = 8;

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

constexpr const char* kTransposeScales = "fp8_transpose_scales";
constexpr const char* kQuantizeRows = "fp8_quantize_rows";
constexpr const char* kQuantizeWeights = "fp8_quantize_weights";

}  // namespace

Expected<std::shared_ptr<const Kernel>> QuantizationKernels::load(std::shared_ptr<const DeviceContext> device,
                                                                  const KernelSpec& spec, std::string_view cubin) {
  auto module = LoadedModule::load(std::move(device), cubin, spec.architecture);
  if (!module) return propagate(module);
  auto kernels = std::make_shared<QuantizationKernels>(spec, std::move(*module));
  if (auto found = kernels->find_functions(); !found) return propagate(found);
  return kernels;
}

std::vector<std::string> QuantizationKernels::entry_points() {
  return {kTransposeScales, kQuantizeRows, kQuantizeWeights};
}

Expected<void> QuantizationKernels::find_functions() {
  const EntryPoint entries[] = {
      {&transpose_scales_, kTransposeScales}, {&quantize_rows_, kQuantizeRows}, {&quantize_weights_, kQuantizeWeights}};
  return module().functions(entries);
}

Expected<void> QuantizationKernels::launch(CUfunction function, const char* name, std::int64_t work, void** parameters,
                                           CUstream stream, int num_sms) const {
  const Driver& driver = device().driver();
  // The CTAs of a small grid are spread over the SMs, one on each. So below the limit of the device there is one per
  // SM.
  const int all = device().info().num_sms;
  const int sms = device().info().sms_within(num_sms);
  const auto ctas = static_cast<unsigned>(std::min<std::int64_t>(work, sms < all ? sms : all * kResident));
  const CUresult result =
      driver.cuLaunchKernel(function, ctas, 1, 1, shared::kThreads, 1, 1, 0, stream, parameters, nullptr);
  return result == CUDA_SUCCESS ? Expected<void>{} : driver.check(result, std::string("launching ") + name);
}

Expected<void> QuantizationKernels::transpose_scales(CUdeviceptr in, CUdeviceptr out, CUdeviceptr row_counts,
                                                     std::int64_t groups, std::int64_t rows, std::int64_t blocks,
                                                     CUstream stream, int num_sms) const {
  const std::int64_t tiles =
      groups * ceil_div(aligned_scale_rows(rows), shared::kTileRows) * ceil_div(blocks, shared::kTileBlocks);
  KernelArguments<shared::TransposeScales> arguments(DevicePointer(in), DevicePointer(out), DevicePointer(row_counts),
                                                     groups, rows, blocks);
  return launch(transpose_scales_, kTransposeScales, tiles, arguments.addresses(), stream, num_sms);
}

Expected<void> QuantizationKernels::quantize_rows(CUdeviceptr x, CUdeviceptr q, const ScalePlaces& scales,
                                                  std::int64_t rows, std::int64_t k, CUstream stream) const {
  KernelArguments<shared::QuantizeRows> arguments(DevicePointer(x), DevicePointer(q), DevicePointer(scales.data), rows,
                                                  k, scales.group_rows, scales.group_stride, scales.row_stride,
                                                  scales.block_stride);
  const std::int64_t work = ceil_div(rows * scale_blocks(k), shared::kRowsApart);
  return launch(quantize_rows_, kQuantizeRows, work, arguments.addresses(), stream);
}

Expected<void> QuantizationKernels::quantize_weights(CUdeviceptr w, CUdeviceptr q, CUdeviceptr scales,
                                                     std::int64_t groups, std::int64_t n, std::int64_t k,
                                                     CUstream stream) const {
  KernelArguments<shared::QuantizeWeights> arguments(DevicePointer(w), DevicePointer(q), DevicePointer(scales), groups,
                                                     n, k);
  const std::int64_t work = groups * scale_blocks(n) * scale_blocks(k);
  return launch(quantize_weights_, kQuantizeWeights, work, arguments.addresses(), stream);
}

}  // namespace cubinet::jit
