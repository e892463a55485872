#include "jit/sm90/launch.hpp"

#include <array>
#include <cstddef>
#include <cstring>

#include "cubinet/scales.hpp"
#include "jit/operands.hpp"
#include "jit/selector.hpp"
#include "jit/sm90/tensor_maps.hpp"

namespace cubinet::jit {
namespace {

// Weights that are read about once are loaded with the evict-first policy, which keeps the L2 for tokens and for lines
// that wait to be written. With more rows per group the token tiles share the weights through the L2. Weights of more
// bytes than this are also read faster without the policy (bench/results).
constexpr std::int64_t kStreamedRowsPerGroup = 512;
constexpr std::int64_t kStreamedWeightBytes = 250'000'000;

// The kernel's parameters for any number of token maps. The scalars follow the last map that the configuration has.
struct alignas(sm90::TensorMap) Parameters {
  std::array<std::byte, sizeof(sm90::ParameterBlock<sm90::kMaxTokenBoxes>)> bytes{};

  sm90::TensorMap* map(int i) { return reinterpret_cast<sm90::TensorMap*>(bytes.data()) + i; }
  void set_scalars(const sm90::Scalars& scalars, int token_boxes) {
    std::memcpy(bytes.data() + sm90::scalars_offset(token_boxes), &scalars, sizeof scalars);
  }
};

static_assert(sm90::kRowBlock == contiguous_alignment() && sm90::kScaleColumns == scale_block(),
              "the kernels' constants and the public ones");

struct Rows {
  std::int64_t each;       // M, or capacity
  std::int64_t total;      // of A and D
  std::int64_t per_group;  // about
};

// A launch in the terms that both layouts share.
struct Operands {
  const void* a;
  const void* b;
  void* d;
  const std::int32_t* grouping;
  const void* token_scales;  // null where there are none
  const void* weight_scales;
  Rows rows;
};

template <class Arguments>
Operands operands_of(const Arguments& arguments, const std::int32_t* grouping, const Rows& rows) {
  return {arguments.a, arguments.b, arguments.d, grouping, arguments.a_scales.data, arguments.b_scales.data, rows};
}

bool streams_weights(const Problem& problem, const Operands& operands) {
  return operands.rows.per_group <= kStreamedRowsPerGroup &&
         problem.groups * problem.n * problem.k * element_bytes(problem.data_type) < kStreamedWeightBytes;
}

CUresult encode_maps(const Driver& driver, const TileConfig& config, const Problem& problem, const Operands& operands,
                     Parameters& parameters) {
  thread_local sm90::MapCache maps;
  thread_local sm90::TokenMapCache token_maps;
  const std::int64_t bytes = element_bytes(problem.data_type);
  const auto depth = static_cast<cuuint32_t>(sm90::stage_depth(static_cast<int>(bytes)));
  const sm90::Matrix weights{operands.b, problem.k, problem.groups * problem.n,
                             bytes,      depth,     static_cast<cuuint32_t>(config.block_columns)};
  CUresult result = maps.fill(driver, weights, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, *parameters.map(0));
  if (result != CUDA_SUCCESS) return result;
  const sm90::Matrix output{operands.d, problem.n,           operands.rows.total,
                            2,          sm90::kChunkColumns, static_cast<cuuint32_t>(output_box_rows(config))};
  result = maps.fill(driver, output, CU_TENSOR_MAP_L2_PROMOTION_NONE, *parameters.map(1));
  if (result != CUDA_SUCCESS) return result;
  const sm90::Matrix tokens{operands.a, problem.k, operands.rows.total,
                            bytes,      depth,     static_cast<cuuint32_t>(config.token_step / config.cluster)};
  return token_maps.fill(driver, tokens, token_boxes(config), parameters.map(2));
}

Expected<void> launch_operands(const Driver& driver, const LaunchableKernel& kernel, const Problem& problem,
                               int num_sms, const Operands& operands, CUstream stream) {
  const TileConfig& config = kernel.config;
  Parameters block;
  if (const CUresult result = encode_maps(driver, config, problem, operands, block); result != CUDA_SUCCESS) {
    return driver.check(result, "cuTensorMapEncodeTiled");
  }
  block.set_scalars({.d = static_cast<bf16*>(operands.d),
                     .grouping = operands.grouping,
                     .rows = static_cast<std::int32_t>(operands.rows.each),
                     .groups = problem.groups,
                     .n = static_cast<std::int32_t>(problem.n),
                     .k = static_cast<std::int32_t>(problem.k),
                     .stream_weights = streams_weights(problem, operands),
                     .token_scales = static_cast<const float*>(operands.token_scales),
                     .weight_scales = static_cast<const float*>(operands.weight_scales)},
                    token_boxes(config));

  CUlaunchAttribute cluster{};
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim = {static_cast<unsigned>(config.cluster), 1, 1};
  CUlaunchConfig launch{};
  launch.gridDimX = static_cast<unsigned>(num_sms / config.cluster * config.cluster);
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

}  // namespace

Expected<void> prepare_for_launch(const Driver& driver, const LaunchableKernel& kernel) {
  return driver.check(driver.cuFuncSetAttribute(kernel.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                dynamic_smem_bytes(kernel.config)),
                      "cuFuncSetAttribute(MAX_DYNAMIC_SHARED_SIZE_BYTES)");
}

Expected<void> launch(const Driver& driver, const LaunchableKernel& kernel, const Problem& problem, int num_sms,
                      const ContiguousArguments& arguments, CUstream stream) {
  const Operands operands =
      operands_of(arguments, arguments.m_indices, {arguments.m, arguments.m, arguments.m / problem.groups});
  return launch_operands(driver, kernel, problem, num_sms, operands, stream);
}

Expected<void> launch(const Driver& driver, const LaunchableKernel& kernel, const Problem& problem, int num_sms,
                      const MaskedArguments& arguments, CUstream stream) {
  const Operands operands = operands_of(
      arguments, arguments.masked_m, {arguments.capacity, problem.groups * arguments.capacity, arguments.expected_m});
  return launch_operands(driver, kernel, problem, num_sms, operands, stream);
}

}  // namespace cubinet::jit
