// The epilogue: FP32 accumulators to BF16 rows of D. wgmma leaves the product transposed (columns on its M side), so
// stmatrix transposes it into a staging buffer with the 128-byte swizzle that the output's tensor map expects.
#pragma once

#include "layout.cuh"
#include "ptx/sync.cuh"
#include "ptx/tma.cuh"
#include "runs.cuh"

namespace cubinet {

// A consumer warpgroup's place in the epilogue.
struct Staging {
  u32 buffers;        // this warpgroup's kChunkBuffers buffers
  int next = 0;
  int warpgroup;
  int thread;         // within the warpgroup

  __device__ __forceinline__ void sync() const { ptx::barrier_sync(1 + warpgroup, kWarpgroup); }
};

// A warpgroup stores 128 bytes of 16 rows at a time, 16 bytes per thread.
constexpr int kRowsApart = kWarpgroup / 8;

// Where 16 bytes of a staged token row lie: chunk c of row r at c ^ (r % 8).
CUBINET_DEVICE u32 staged(u32 buffer, int token, int chunk) {
  return buffer + token * 128 + ((chunk ^ (token & 7)) << 4);
}

// Writes one chunk of 64 tokens from this thread's accumulators of these tokens.
CUBINET_DEVICE void stage_chunk(const float* accumulators, u32 buffer, int thread) {
  const int lane = thread & 31, warp = thread >> 5;
  const int row = ((lane >> 4) << 3) + (lane & 7);
  const int chunk = warp * 2 + ((lane >> 3) & 1);
#pragma unroll
  for (int j = 0; j < kChunkTokens / 16; ++j) {
    const float* x = accumulators + j * 8;
    ptx::stmatrix_x4_trans(staged(buffer, j * 16 + row, chunk), ptx::pack_bf16x2(x[0], x[1]),
                           ptx::pack_bf16x2(x[2], x[3]), ptx::pack_bf16x2(x[4], x[5]), ptx::pack_bf16x2(x[6], x[7]));
  }
}

// Which of the token rows that this thread would store by hand are to be stored: bit i stands for token
// i * 16 + thread / 8, of which the thread holds columns [thread % 8 * 8, + 8) of the warpgroup's 64.
template <class Rows>
CUBINET_DEVICE u32 rows_to_store(const Parameters& p, const Tile& tile, int column, int thread) {
  if (column + (thread & 7) * 8 >= columns_of(p)) return 0;
  const int first = thread >> 3;
  const int count = (tile.tokens - first + kRowsApart - 1) / kRowsApart;
  if (!Rows::kHoles || !tile.has_holes) return count > 0 ? (1u << count) - 1 : 0;
  u32 mask = 0;
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    mask |= static_cast<u32>(Rows::is_valid(p, tile.first_row + first + i * kRowsApart)) << i;
  }
  return mask;
}

// Stores the rows in `mask` of a staged chunk that TMA may not store whole.
CUBINET_DEVICE void store_rows(const Parameters& p, const Tile& tile, int first_token, int column, u32 buffer, u32 mask,
                               int thread) {
  const int token = thread >> 3, chunk = thread & 7;
  bf16* d = p.d + static_cast<long long>(tile.first_row + first_token + token) * columns_of(p) + column + chunk * 8;
#pragma unroll
  for (int i = 0; i < kChunkTokens / kRowsApart; ++i) {
    if (mask >> (first_token / kRowsApart + i) & 1) {
      ptx::store_global_v4(d + static_cast<long long>(i * kRowsApart) * columns_of(p),
                           ptx::load_shared_v4(staged(buffer, token + i * kRowsApart, chunk)));
    }
  }
}

// One warpgroup's 64 columns of a tile.
template <class Rows>
CUBINET_DEVICE void store_tile(const Parameters& p, const Tile& tile, const float (&accumulators)[kAccumulators],
                               Staging& staging) {
  const int column = tile.column + staging.warpgroup * kWarpgroupColumns;
  const u32 mask = rows_to_store<Rows>(p, tile, column, staging.thread);
#pragma unroll
  for (int q = 0; q < kAccumulators / (kChunkTokens / 2); ++q) {
    const int first_token = q * kChunkTokens;
    if (first_token >= tile.tokens) break;
    const u32 buffer = staging.buffers + staging.next * kChunkBytes;
    // The buffer is free once its earlier TMA store has been read and all threads are past their partial store.
    if (staging.thread == 0) ptx::bulk_wait_group_read<kChunkBuffers - 1>();
    staging.sync();
    stage_chunk(accumulators + q * (kChunkTokens / 2), buffer, staging.thread);
    ptx::fence_proxy_async_shared();
    staging.sync();
    if (first_token + kChunkTokens <= tile.tokens && !tile.has_holes) {
      if (staging.thread == 0) ptx::tma_store(&p.output, buffer, column, tile.first_row + first_token);
    } else {
      store_rows(p, tile, first_token, column, buffer, mask, staging.thread);
    }
    if (staging.thread == 0) ptx::bulk_commit_group();
    staging.next = (staging.next + 1) % kChunkBuffers;
  }
}

}  // namespace cubinet
