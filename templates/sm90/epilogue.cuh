// The epilogue rounds FP32 accumulators to BF16 and stores them to D. It stages them in shared memory, 64 columns (128
// bytes) to a row, with the 128-byte swizzle that the output's tensor map expects. A box of which all rows are valid is
// stored by TMA. In other boxes each thread stores 16 bytes of a valid row at a time.
//
// With tokens on N the product is transposed and a warp holds 16 columns: stmatrix transposes it, and the four warps of
// a warpgroup fill a chunk of 64 tokens together. With tokens on M a warp holds 16 rows and all of their columns, and
// stores them without the other warps.
#pragma once

#include "layout.cuh"
#include "ptx/sync.cuh"
#include "ptx/tma.cuh"
#include "segments.cuh"

namespace cubinet {

// The staging buffers of a consumer warpgroup, as one of its threads sees them.
struct Staging {
  u32 buffers;   // shared address of this warpgroup's first buffer
  int next = 0;  // the buffer to use next
  int warpgroup;
  int thread;  // within the warpgroup

  __device__ __forceinline__ void sync() const { ptx::barrier_sync(1 + warpgroup, kWarpgroup); }
};

// The address of 16 bytes of a staged row: the swizzle puts the c-th 16 bytes of row r at position c ^ (r % 8).
CUBINET_DEVICE u32 staged(u32 buffer, int token, int chunk) {
  return buffer + token * 128 + ((chunk ^ (token & 7)) << 4);
}

// Stages this thread's accumulators of 64 elements on the N side for each of the warp's 16 rows on the M side. `first`
// is the warp's first row. A lane passes stmatrix the address of row lane % 8 of matrix lane / 8. Matrices 0 and 1 lie
// one below the other on the M side; 2 and 3 follow along the N side.
CUBINET_DEVICE void stage_warp(const float* accumulators, u32 buffer, int first, int lane) {
  const int on_m = first + (lane & 8), on_n = (lane & 16) >> 1, within = lane & 7;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const float* x = accumulators + j * 8;
    const u32 a = ptx::pack_bf16x2(x[0], x[1]), b = ptx::pack_bf16x2(x[2], x[3]);
    const u32 c = ptx::pack_bf16x2(x[4], x[5]), d = ptx::pack_bf16x2(x[6], x[7]);
    if constexpr (kTokensOnM) {
      ptx::stmatrix_x4(staged(buffer, on_m + within, (j * 16 + on_n) / 8), a, b, c, d);
    } else {
      ptx::stmatrix_x4_trans(staged(buffer, j * 16 + on_n + within, on_m / 8), a, b, c, d);
    }
  }
}

// Copies 16 bytes of a staged row to D.
CUBINET_DEVICE void store_piece(const Parameters& p, int row, int column, u32 buffer, int token, int chunk) {
  ptx::store_global_v4(p.d + static_cast<long long>(row) * columns_of(p) + column,
                       ptx::load_shared_v4(staged(buffer, token, chunk)));
}

// Tokens on N: stores one warpgroup's 64 columns of a tile.
struct ColumnEpilogue {
  // Without TMA a warpgroup stores 128 bytes of 16 rows at a time, 16 bytes per thread.
  static constexpr int kRowsApart = kWarpgroup / 8;

  // A mask of the tile's rows that this thread may store: bit i is set if row thread / 8 + i * 16 is valid.
  template <class Rows>
  static __device__ __forceinline__ u32 valid_rows(const Parameters& p, const Tile& tile, int thread) {
    const int token = thread >> 3;
    const int count = (tile.tokens - token + kRowsApart - 1) / kRowsApart;
    if (count <= 0) return 0;
    u32 mask = (1u << count) - 1;
    if (Rows::kHasPadding && tile.has_padding) {
#pragma unroll 1
      for (int i = 0; i < count; ++i) {
        if (!Rows::is_valid(p, tile.first_row + token + i * kRowsApart)) mask ^= 1u << i;
      }
    }
    return mask;
  }

  template <class Rows>
  static __device__ __forceinline__ void store(const Parameters& p, const Tile& tile,
                                               const float (&accumulators)[kAccumulators], Staging& staging) {
    const int thread = staging.thread, column = tile.column + staging.warpgroup * kWarpgroupRows;
    const int own_column = column + (thread & 7) * 8;
    const u32 mask = own_column < columns_of(p) ? valid_rows<Rows>(p, tile, thread) : 0;
#pragma unroll
    for (int q = 0; q < kChunks; ++q) {
      const int first_token = q * kChunkTokens;
      if (first_token >= tile.tokens) break;
      const u32 buffer = staging.buffers + staging.next * kChunkBytes;
      // The buffer is free once its earlier TMA store has read it and all threads are past their partial store.
      if (thread == 0) ptx::bulk_wait_group_read<kChunkBuffers - 1>();
      staging.sync();
      stage_warp(accumulators + q * kChunkAccumulators, buffer, (thread >> 5) * 16, thread & 31);
      ptx::fence_proxy_async_shared();
      staging.sync();
      if (first_token + kChunkTokens <= tile.tokens && !tile.has_padding) {
        if (thread == 0) ptx::tma_store(&p.output, buffer, column, tile.first_row + first_token);
      } else {
#pragma unroll
        for (int i = 0; i < kChunkTokens / kRowsApart; ++i) {
          const int token = (thread >> 3) + i * kRowsApart;
          if (mask >> (q * (kChunkTokens / kRowsApart) + i) & 1) {
            store_piece(p, tile.first_row + first_token + token, own_column, buffer, token, thread & 7);
          }
        }
      }
      if (thread == 0) ptx::bulk_commit_group();
      staging.next = (staging.next + 1) % kChunkBuffers;
    }
  }
};

// Tokens on M: stores one warp's 16 rows of a tile, all columns at once. No warp waits for another, and one fence
// serves all chunks. This takes a third of the time of storing chunk by chunk (bench/results).
struct RowEpilogue {
  static constexpr int kWarpChunkBytes = kWarpRows * 128;

  template <class Rows>
  static __device__ __forceinline__ void store(const Parameters& p, const Tile& tile,
                                               const float (&accumulators)[kAccumulators], Staging& staging) {
    const int lane = staging.thread & 31, warp = staging.thread >> 5;
    const int first_token = staging.warpgroup * kWarpgroupRows + warp * kWarpRows;
    if (first_token >= tile.tokens) return;
    const u32 buffer = staging.buffers + warp * kChunks * kWarpChunkBytes;
    if (lane == 0) ptx::bulk_wait_group_read<0>();
    __syncwarp();
#pragma unroll
    for (int q = 0; q < kChunks; ++q) {
      stage_warp(accumulators + q * kChunkAccumulators, buffer + q * kWarpChunkBytes, 0, lane);
    }
    ptx::fence_proxy_async_shared();
    __syncwarp();
    if (first_token + kWarpRows <= tile.tokens && !tile.has_padding) {
      if (lane == 0) store_whole(p, tile, first_token, buffer);
    } else {
      store_valid<Rows>(p, tile, first_token, buffer, lane);
    }
  }

  // By TMA: all 16 rows are valid.
  static __device__ __forceinline__ void store_whole(const Parameters& p, const Tile& tile, int token, u32 buffer) {
#pragma unroll
    for (int q = 0; q < kChunks; ++q) {
      const int column = tile.column + q * kChunkColumns;
      if (column < columns_of(p)) {
        ptx::tma_store(&p.output, buffer + q * kWarpChunkBytes, column, tile.first_row + token);
      }
    }
    ptx::bulk_commit_group();
  }

  // 16 bytes per thread, valid rows only.
  template <class Rows>
  static __device__ __forceinline__ void store_valid(const Parameters& p, const Tile& tile, int first_token, u32 buffer,
                                                     int lane) {
#pragma unroll 1
    for (int i = 0; i < kWarpRows / 4; ++i) {
      const int within = i * 4 + (lane >> 3), row = tile.first_row + first_token + within;
      if (first_token + within >= tile.tokens) continue;
      if (Rows::kHasPadding && tile.has_padding && !Rows::is_valid(p, row)) continue;
#pragma unroll
      for (int q = 0; q < kChunks; ++q) {
        const int column = tile.column + q * kChunkColumns + (lane & 7) * 8;
        if (column < columns_of(p)) {
          store_piece(p, row, column, buffer + q * kWarpChunkBytes, within, lane & 7);
        }
      }
    }
    __syncwarp();  // the next tile writes these buffers
  }
};

template <bool kRows>
struct EpilogueFor {
  using Type = ColumnEpilogue;
};
template <>
struct EpilogueFor<true> {
  using Type = RowEpilogue;
};
using Epilogue = EpilogueFor<kTokensOnM>::Type;

}  // namespace cubinet
