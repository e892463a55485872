// Tensor maps for TMA: encoded by the driver, and kept so that a launch seldom has to encode one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "jit/driver.hpp"
#include "jit/sm90/tile_config.hpp"

namespace cubinet::jit::sm90 {

// A row-major matrix in device memory, and the box that TMA moves at a time. Sizes count elements. Elements of 2 bytes
// are bf16.
struct Matrix {
  const void* base;
  std::int64_t columns;
  std::int64_t rows;
  std::int64_t element_bytes;
  cuuint32_t box_columns;
  cuuint32_t box_rows;

  friend bool operator==(const Matrix&, const Matrix&) = default;
};

// Encoding the maps would take most of a launch's host time, and engines launch with the same buffers again and again:
// the weights of each layer, and a few buffers of tokens and outputs. So each thread keeps the maps it has encoded. A
// kept map cannot be out of date, because its key is everything that it was encoded from.

// Maps of weights and outputs. Each matrix has one place, which its address determines.
class MapCache {
 public:
  CUresult fill(const Driver& driver, const Matrix& matrix, CUtensorMapL2promotion promotion, TensorMap& map);

 private:
  static constexpr int kPlaceBits = 8;  // two matrices of weights for each of a hundred layers

  struct Entry {
    Matrix matrix{};
    CUtensorMapL2promotion promotion{};
    TensorMap map;
  };

  static std::size_t place_of(const Matrix& matrix);

  std::array<Entry, std::size_t{1} << kPlaceBits> entries_{};
};

// Maps of tokens. A launch takes one for every token count of a tile.
class TokenMapCache {
 public:
  // Fills in `boxes` maps; the i-th has a box of (i + 1) * tokens.box_rows rows.
  CUresult fill(const Driver& driver, const Matrix& tokens, int boxes, TensorMap* maps);

 private:
  struct Entry {
    Matrix tokens{};
    int boxes = 0;
    std::array<TensorMap, kMaxTokenBoxes> maps;
  };

  std::array<Entry, 8> entries_{};
  std::size_t next_ = 0;
};

}  // namespace cubinet::jit::sm90
