#include "jit/sm90/launch.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "cubinet/scales.hpp"
#include "jit/problems.hpp"
#include "jit/sm90/tensor_maps.hpp"

namespace cubinet::jit::sm90 {
namespace {

// Weights that are read about once are loaded with the evict-first policy, which keeps the L2 for tokens and for lines
// that wait to be written. With more rows per group the token tiles share the weights through the L2. Weights of more
// bytes than this are also read faster without the policy (bench/results).
constexpr std::int64_t kStreamedRowsPerGroup = 512;
constexpr std::int64_t kStreamedWeightBytes = 250'000'000;

// The kernel's parameters for any number of token maps. The scalars follow the last map that the configuration has.
struct alignas(TensorMap) Parameters {
  std::array<std::byte, sizeof(ParameterBlock<kMaxTokenBoxes>)> bytes{};

  TensorMap* map(int i) { return reinterpret_cast<TensorMap*>(bytes.data()) + i; }
  void set_scalars(const Scalars& scalars, int token_boxes) {
    std::memcpy(bytes.data() + scalars_offset(token_boxes), &scalars, sizeof scalars);
  }
};

static_assert(kRowBlock == contiguous_alignment() && kScaleColumns == scale_block(),
              "the kernels' constants and the public ones");

bool streams_weights(const Problem& problem, const GemmArguments& arguments) {
  return arguments.rows_per_group <= kStreamedRowsPerGroup &&
         problem.groups * problem.n * problem.k * element_bytes(operands_of(problem.data_type).b) <
             kStreamedWeightBytes;
}

CUresult encode_maps(const Driver& driver, const TileConfig& config, const Problem& problem,
                     const GemmArguments& arguments, Parameters& parameters) {
  thread_local MapCache maps;
  thread_local TokenMapCache token_maps;
  const std::int64_t bytes = element_bytes(operands_of(problem.data_type).a);
  const auto depth = static_cast<cuuint32_t>(stage_depth(static_cast<int>(bytes)));
  const Matrix weights{arguments.b, problem.k, problem.groups * problem.n,
                       bytes,       depth,     static_cast<cuuint32_t>(config.block_columns)};
  CUresult result = maps.fill(driver, weights, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, *parameters.map(0));
  if (result != CUDA_SUCCESS) return result;
  const Matrix output{arguments.d, problem.n,     arguments.total_rows,
                      2,           kChunkColumns, static_cast<cuuint32_t>(output_box_rows(config))};
  result = maps.fill(driver, output, CU_TENSOR_MAP_L2_PROMOTION_NONE, *parameters.map(1));
  if (result != CUDA_SUCCESS) return result;
  const Matrix tokens{arguments.a, problem.k, arguments.total_rows,
                      bytes,       depth,     static_cast<cuuint32_t>(config.token_step / config.cluster)};
  return token_maps.fill(driver, tokens, token_boxes(config), parameters.map(2));
}

// One CTA for each SM that the launch may occupy, in whole clusters.
int ctas_of(const TileConfig& config, const DeviceInfo& device, int num_sms) {
  return std::max(device.sms_within(num_sms) / config.cluster, 1) * config.cluster;
}

}  // namespace

Expected<void> prepare_for_launch(const Driver& driver, const LaunchableKernel& kernel) {
  return driver.check(driver.cuFuncSetAttribute(kernel.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                dynamic_smem_bytes(kernel.config)),
                      "cuFuncSetAttribute(MAX_DYNAMIC_SHARED_SIZE_BYTES)");
}

Expected<void> launch(const Driver& driver, const DeviceInfo& device, const LaunchableKernel& kernel,
                      const Problem& problem, const GemmArguments& arguments, CUstream stream) {
  const TileConfig& config = kernel.config;
  Parameters block;
  if (const CUresult result = encode_maps(driver, config, problem, arguments, block); result != CUDA_SUCCESS) {
    return driver.check(result, "cuTensorMapEncodeTiled");
  }
  block.set_scalars({.d = static_cast<cubinet::bf16*>(arguments.d),
                     .grouping = arguments.grouping,
                     .rows = static_cast<std::int32_t>(arguments.rows),
                     .groups = problem.groups,
                     .n = static_cast<std::int32_t>(problem.n),
                     .k = static_cast<std::int32_t>(problem.k),
                     .stream_weights = streams_weights(problem, arguments),
                     .token_scales = static_cast<const float*>(arguments.a_scales.data),
                     .weight_scales = static_cast<const float*>(arguments.b_scales.data)},
                    token_boxes(config));

  CUlaunchAttribute cluster{};
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim = {static_cast<unsigned>(config.cluster), 1, 1};
  CUlaunchConfig launch{};
  launch.gridDimX = static_cast<unsigned>(ctas_of(config, device, arguments.num_sms));
  launch.gridDimY = launch.gridDimZ = 1;
  launch.blockDimX = static_cast<unsigned>(threads_per_cta(config));
  launch.blockDimY = launch.blockDimZ = 1;
  launch.sharedMemBytes = static_cast<unsigned>(dynamic_smem_bytes(config));
  launch.hStream = stream;
  launch.attrs = &cluster;
  launch.numAttrs = config.cluster > 1 ? 1 : 0;
  void* parameters[] = {&block};
  const CUresult result = driver.cuLaunchKernelEx(&launch, kernel.function, parameters, nullptr);
  return result == CUDA_SUCCESS ? Expected<void>{} : driver.check(result, "cuLaunchKernelEx");
}

}  // namespace cubinet::jit::sm90
