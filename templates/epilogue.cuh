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
  u32 buffers;  // this warpgroup's kChunkBuffers buffers
  int next = 0;
  int warpgroup;
  int thread;  // within the warpgroup

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

// What a thread stores by hand where TMA may not store a whole chunk: of every 16th token, from token thread / 8 on,
// columns [thread % 8 * 8, + 8) of the warpgroup's 64.
struct RowStore {
  bf16* d;   // its first token
  u32 mask;  // bit i: token i * 16 + thread / 8 is valid and these columns exist
};

template <class Rows>
CUBINET_DEVICE RowStore row_store(const Parameters& p, const Tile& tile, int column, int thread) {
  column += (thread & 7) * 8;
  const int token = thread >> 3, row = tile.first_row + token;
  RowStore store{p.d + static_cast<long long>(row) * columns_of(p) + column, 0};
  const int count = (tile.tokens - token + kRowsApart - 1) / kRowsApart;
  if (column >= columns_of(p) || count <= 0) return store;
  store.mask = (1u << count) - 1;
  if (Rows::kHoles && tile.has_holes) {
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      if (!Rows::is_valid(p, row + i * kRowsApart)) store.mask ^= 1u << i;
    }
  }
  return store;
}

// Stores its rows of staged chunk `q` of the tile.
CUBINET_DEVICE void store_rows(const Parameters& p, const RowStore& store, int q, u32 buffer, int thread) {
  constexpr int kRows = kChunkTokens / kRowsApart;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    if (store.mask >> (q * kRows + i) & 1) {
      ptx::store_global_v4(store.d + static_cast<long long>((q * kRows + i) * kRowsApart) * columns_of(p),
                           ptx::load_shared_v4(staged(buffer, (thread >> 3) + i * kRowsApart, thread & 7)));
    }
  }
}

// One warpgroup's 64 columns of a tile.
template <class Rows>
CUBINET_DEVICE void store_tile(const Parameters& p, const Tile& tile, const float (&accumulators)[kAccumulators],
                               Staging& staging) {
  const int column = tile.column + staging.warpgroup * kWarpgroupColumns;
  const RowStore rows = row_store<Rows>(p, tile, column, staging.thread);
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
      store_rows(p, rows, q, buffer, staging.thread);
    }
    if (staging.thread == 0) ptx::bulk_commit_group();
    staging.next = (staging.next + 1) % kChunkBuffers;
  }
}

}  // namespace cubinet
