#include "jit/sm90/launch.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "jit/operands.hpp"
#include "jit/selector.hpp"

namespace cubinet::jit {
namespace {

constexpr int kMaxTokenBoxes = 16;            // 256 tokens in steps of 16
constexpr std::int64_t kStageRowBytes = 128;  // of K in a stage, the width of the swizzle
constexpr cuuint32_t kChunkColumns = 64;      // of an output box

// Weights that are read about once are loaded with the evict-first policy, which keeps the L2 for tokens and for lines
// that wait to be written. With more rows per group the token tiles share them through the L2, and weights larger than
// these bytes are read faster without the policy, too (bench/results).
constexpr std::int64_t kStreamedRowsPerGroup = 512;
constexpr std::int64_t kStreamedWeightBytes = 250'000'000;

// What follows the tensor maps in the kernel's parameters (templates/sm90/layout.cuh, struct Parameters).
struct Scalars {
  CUdeviceptr d;
  CUdeviceptr row_info;
  std::int32_t rows;
  std::int32_t groups;
  std::int32_t n;
  std::int32_t k;
  std::int32_t stream_weights;
  CUdeviceptr token_scales;
  CUdeviceptr weight_scales;
};
static_assert(offsetof(Scalars, token_scales) == 40 && sizeof(Scalars) == 56);

// The kernel's one parameter: weights map, output map, a token map per token count, scalars.
struct alignas(CUtensorMap) ParameterBlock {
  std::array<std::byte, (2 + kMaxTokenBoxes) * sizeof(CUtensorMap) + 64> bytes{};

  CUtensorMap* map(int i) { return reinterpret_cast<CUtensorMap*>(bytes.data()) + i; }
};

// Token maps of a configuration: one per token count.
int token_boxes(const TileConfig& config) { return config.block_tokens / config.token_step; }

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
  const std::int32_t* row_info;
  const void* token_scales;  // null where there are none
  const void* weight_scales;
  Rows rows;
};

template <class Arguments>
Operands operands_of(const Arguments& arguments, const std::int32_t* row_info, const Rows& rows) {
  return {arguments.a, arguments.b, arguments.d, row_info, arguments.a_scales.data, arguments.b_scales.data, rows};
}

bool streams_weights(const Problem& problem, const Operands& operands) {
  return operands.rows.per_group <= kStreamedRowsPerGroup &&
         problem.groups * problem.n * problem.k * element_bytes(problem.data_type) < kStreamedWeightBytes;
}

// A row-major matrix in device memory, and the box that TMA moves of it at a time.
struct Matrix {
  const void* base;
  std::int64_t columns;
  std::int64_t rows;
  std::int64_t element_bytes;
  cuuint32_t box_columns;
  cuuint32_t box_rows;

  friend bool operator==(const Matrix&, const Matrix&) = default;
};

CUresult encode(const Driver& driver, CUtensorMap* map, const Matrix& matrix, CUtensorMapL2promotion promotion) {
  const auto type = matrix.element_bytes == 1 ? CU_TENSOR_MAP_DATA_TYPE_UINT8 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  const cuuint64_t dimensions[2] = {static_cast<cuuint64_t>(matrix.columns), static_cast<cuuint64_t>(matrix.rows)};
  const cuuint64_t strides[1] = {static_cast<cuuint64_t>(matrix.columns * matrix.element_bytes)};
  const cuuint32_t box[2] = {matrix.box_columns, matrix.box_rows};
  const cuuint32_t element_strides[2] = {1, 1};
  return driver.cuTensorMapEncodeTiled(map, type, 2, const_cast<void*>(matrix.base), dimensions, strides, box,
                                       element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                       promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

// Most of a launch's host time would go into encoding maps, and engines hand over the same buffers again and again: the
// weights of each layer, and a few of tokens and outputs. A map says nothing but what its key says, so one that is kept
// cannot be out of date.
//
// Maps of weights and outputs, each in the one place that its address leads to.
class MapCache {
 public:
  CUresult fill(const Driver& driver, const Matrix& matrix, CUtensorMapL2promotion promotion, CUtensorMap* map) {
    Entry& entry = entries_[place_of(matrix)];
    if (!(entry.matrix == matrix && entry.promotion == promotion)) {
      entry.matrix = {};  // unless it comes about
      const CUresult result = encode(driver, &entry.map, matrix, promotion);
      if (result != CUDA_SUCCESS) return result;
      entry.matrix = matrix;
      entry.promotion = promotion;
    }
    *map = entry.map;
    return CUDA_SUCCESS;
  }

 private:
  static constexpr int kPlaceBits = 8;  // two matrices of weights for each of a hundred layers

  struct Entry {
    Matrix matrix{};
    CUtensorMapL2promotion promotion{};
    CUtensorMap map;
  };

  // Fibonacci hashing: multiplied by 2^64 over the golden ratio, the upper bits depend on all lower ones.
  static std::size_t place_of(const Matrix& matrix) {
    const std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(matrix.base) * 0x9e3779b97f4a7c15U;
    return static_cast<std::size_t>(mixed >> (64 - kPlaceBits));
  }

  std::array<Entry, std::size_t{1} << kPlaceBits> entries_{};
};

// Maps of tokens, of which a launch takes one for every token count.
class TokenMapCache {
 public:
  // Fills in `boxes` maps, the i-th with a box of i + 1 times the rows that `tokens` has.
  CUresult fill(const Driver& driver, const Matrix& tokens, int boxes, CUtensorMap* maps) {
    auto entry = std::find_if(entries_.begin(), entries_.end(),
                              [&](const Entry& kept) { return kept.boxes == boxes && kept.tokens == tokens; });
    if (entry == entries_.end()) {
      entry = entries_.begin() + static_cast<std::ptrdiff_t>(next_++ % entries_.size());
      entry->boxes = 0;  // unless all of it comes about
      const CUresult result = encode_all(driver, tokens, boxes, entry->maps.data());
      if (result != CUDA_SUCCESS) return result;
      entry->tokens = tokens;
      entry->boxes = boxes;
    }
    std::memcpy(maps, entry->maps.data(), static_cast<std::size_t>(boxes) * sizeof(CUtensorMap));
    return CUDA_SUCCESS;
  }

 private:
  struct Entry {
    Matrix tokens{};
    int boxes = 0;
    std::array<CUtensorMap, kMaxTokenBoxes> maps;
  };

  static CUresult encode_all(const Driver& driver, Matrix tokens, int boxes, CUtensorMap* maps) {
    CUresult result = CUDA_SUCCESS;
    const cuuint32_t step = tokens.box_rows;
    for (int i = 0; i < boxes && result == CUDA_SUCCESS; ++i) {
      tokens.box_rows = step * static_cast<cuuint32_t>(i + 1);
      result = encode(driver, maps + i, tokens, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
    }
    return result;
  }

  std::array<Entry, 8> entries_{};
  std::size_t next_ = 0;
};

CUresult encode_maps(const Driver& driver, const TileConfig& config, const Problem& problem, const Operands& operands,
                     ParameterBlock& block) {
  thread_local MapCache maps;
  thread_local TokenMapCache token_maps;
  const std::int64_t bytes = element_bytes(problem.data_type);
  const auto depth = static_cast<cuuint32_t>(kStageRowBytes / bytes);
  const Matrix weights{operands.b, problem.k, problem.groups * problem.n,
                       bytes,      depth,     static_cast<cuuint32_t>(config.block_columns)};
  CUresult result = maps.fill(driver, weights, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, block.map(0));
  if (result != CUDA_SUCCESS) return result;
  // A warpgroup stores 64 rows together, or each of its warps 16 (templates/sm90/epilogue.cuh).
  const Matrix output{operands.d, problem.n, operands.rows.total, 2, kChunkColumns, config.tokens_on_m ? 16u : 64u};
  result = maps.fill(driver, output, CU_TENSOR_MAP_L2_PROMOTION_NONE, block.map(1));
  if (result != CUDA_SUCCESS) return result;
  const Matrix tokens{operands.a, problem.k, operands.rows.total,
                      bytes,      depth,     static_cast<cuuint32_t>(config.token_step / config.cluster)};
  return token_maps.fill(driver, tokens, token_boxes(config), block.map(2));
}

Expected<void> launch_operands(const Driver& driver, const LaunchableKernel& kernel, const Problem& problem,
                               int num_sms, const Operands& operands, CUstream stream) {
  const TileConfig& config = kernel.config;
  ParameterBlock block;
  if (const CUresult result = encode_maps(driver, config, problem, operands, block); result != CUDA_SUCCESS) {
    return driver.check(result, "cuTensorMapEncodeTiled");
  }
  const Scalars scalars{device_address(operands.d),
                        device_address(operands.row_info),
                        static_cast<std::int32_t>(operands.rows.each),
                        problem.groups,
                        static_cast<std::int32_t>(problem.n),
                        static_cast<std::int32_t>(problem.k),
                        streams_weights(problem, operands),
                        device_address(operands.token_scales),
                        device_address(operands.weight_scales)};
  std::memcpy(block.map(2 + token_boxes(config)), &scalars, sizeof scalars);

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
