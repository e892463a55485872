#include "jit/sm90/tensor_maps.hpp"

#include <algorithm>
#include <cstring>

namespace cubinet::jit::sm90 {
namespace {

CUresult encode(const Driver& driver, TensorMap& map, const Matrix& matrix, CUtensorMapL2promotion promotion) {
  const auto type = matrix.element_bytes == 1 ? CU_TENSOR_MAP_DATA_TYPE_UINT8 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  const cuuint64_t dimensions[2] = {static_cast<cuuint64_t>(matrix.columns), static_cast<cuuint64_t>(matrix.rows)};
  const cuuint64_t strides[1] = {static_cast<cuuint64_t>(matrix.columns * matrix.element_bytes)};
  const cuuint32_t box[2] = {matrix.box_columns, matrix.box_rows};
  const cuuint32_t element_strides[2] = {1, 1};
  CUtensorMap encoded;
  const CUresult result = driver.cuTensorMapEncodeTiled(
      &encoded, type, 2, const_cast<void*>(matrix.base), dimensions, strides, box, element_strides,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  // The shared header has a type of its own; the driver's has another alignment in each version of CUDA.
  static_assert(sizeof map == sizeof encoded);
  std::memcpy(&map, &encoded, sizeof map);
  return result;
}

CUresult encode_token_maps(const Driver& driver, Matrix tokens, int boxes, TensorMap* maps) {
  CUresult result = CUDA_SUCCESS;
  const cuuint32_t step = tokens.box_rows;
  for (int i = 0; i < boxes && result == CUDA_SUCCESS; ++i) {
    tokens.box_rows = step * static_cast<cuuint32_t>(i + 1);
    result = encode(driver, maps[i], tokens, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
  }
  return result;
}

}  // namespace

CUresult MapCache::fill(const Driver& driver, const Matrix& matrix, CUtensorMapL2promotion promotion, TensorMap& map) {
  Entry& entry = entries_[place_of(matrix)];
  if (!(entry.matrix == matrix && entry.promotion == promotion)) {
    entry.matrix = {};  // invalidate the entry in case encoding fails
    const CUresult result = encode(driver, entry.map, matrix, promotion);
    if (result != CUDA_SUCCESS) return result;
    entry.matrix = matrix;
    entry.promotion = promotion;
  }
  map = entry.map;
  return CUDA_SUCCESS;
}

// Fibonacci hashing: multiplied by 2^64 over the golden ratio, the upper bits depend on all lower ones.
std::size_t MapCache::place_of(const Matrix& matrix) {
  const std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(matrix.base) * 0x9e3779b97f4a7c15U;
  return static_cast<std::size_t>(mixed >> (64 - kPlaceBits));
}

CUresult TokenMapCache::fill(const Driver& driver, const Matrix& tokens, int boxes, TensorMap* maps) {
  auto entry = std::find_if(entries_.begin(), entries_.end(),
                            [&](const Entry& kept) { return kept.boxes == boxes && kept.tokens == tokens; });
  if (entry == entries_.end()) {
    entry = entries_.begin() + static_cast<std::ptrdiff_t>(next_++ % entries_.size());
    entry->boxes = 0;  // invalidate the entry in case encoding fails
    const CUresult result = encode_token_maps(driver, tokens, boxes, entry->maps.data());
    if (result != CUDA_SUCCESS) return result;
    entry->tokens = tokens;
    entry->boxes = boxes;
  }
  std::memcpy(maps, entry->maps.data(), static_cast<std::size_t>(boxes) * sizeof(TensorMap));
  return CUDA_SUCCESS;
}

}  // namespace cubinet::jit::sm90
