// The scheduler: one warp per CTA cuts runs into tiles, deals them over the clusters of the persistent grid, and hands
// each decoded tile to the producer and the consumers through a ring in shared memory. Every CTA computes the same
// order from the same rows, so nothing is shared between CTAs and a launch needs no workspace.
#pragma once

#include "layout.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/sync.cuh"
#include "runs.cuh"

namespace cubinet {

// Tokens of a run's tiles: as even as can be in units of 8 while there are few, whole tiles when there are many.
CUBINET_DEVICE int tile_tokens(int rows) {
  const int tiles = ceil_div(rows, kBlockTokens);
  if (tiles > 4) return kBlockTokens;
  return (ceil_div(rows, tiles) + 7) & ~7;
}

// Deterministic counting sort of the window's runs by tile size, largest first, into control.order.
CUBINET_DEVICE void order_largest_first(Control& control, int runs, int lane) {
  if (lane < 16) control.size_classes[lane] = 0;
  __syncwarp();
  for (int i = lane; i < ((runs + 31) & ~31); i += 32) {
    const int size_class = i < runs ? 15 - (tile_tokens(control.runs[i].rows) - 1) / 16 : -1;
    const u32 peers = __match_any_sync(kAllLanes, size_class);
    if (size_class >= 0 && (peers & ((1u << lane) - 1)) == 0) control.size_classes[size_class] += __popc(peers);
    __syncwarp();
  }
  int count = lane < 16 ? control.size_classes[lane] : 0;
  int before = count;
  for (int o = 1; o < 16; o <<= 1) {
    const int y = __shfl_up_sync(kAllLanes, before, o);
    if (lane >= o) before += y;
  }
  if (lane < 16) control.size_classes[lane] = before - count;
  __syncwarp();
  for (int i = lane; i < ((runs + 31) & ~31); i += 32) {
    const int size_class = i < runs ? 15 - (tile_tokens(control.runs[i].rows) - 1) / 16 : -1;
    const u32 peers = __match_any_sync(kAllLanes, size_class);
    const int rank = __popc(peers & ((1u << lane) - 1));
    const int base = size_class >= 0 ? control.size_classes[size_class] : 0;
    __syncwarp();
    if (size_class >= 0) {
      control.order[base + rank] = static_cast<unsigned char>(i);
      if (rank == 0) control.size_classes[size_class] = base + __popc(peers);
    }
    __syncwarp();
  }
}

// Fills control.first_tile for the window's runs in order; returns the number of tiles.
CUBINET_DEVICE int count_tiles(Control& control, int runs, int columns, int lane) {
  int total = 0;
  for (int i = lane; i < ((runs + 31) & ~31); i += 32) {
    int tiles = 0;
    if (i < runs) {
      const int rows = control.runs[kLargestFirst ? control.order[i] : i].rows;
      tiles = ceil_div(rows, tile_tokens(rows)) * columns;
    }
    int sum = tiles;
    for (int o = 1; o < 32; o <<= 1) {
      const int y = __shfl_up_sync(kAllLanes, sum, o);
      if (lane >= o) sum += y;
    }
    if (i < runs) control.first_tile[i] = total + sum - tiles;
    total += __shfl_sync(kAllLanes, sum, 31);
  }
  if (lane == 0) control.first_tile[runs] = total;
  __syncwarp();
  return total;
}

// A tile's place within its run. kRasterBand == 0: token tiles fastest, so that those which share weights run
// together; else bands of kRasterBand column tiles, fastest within the band, so that a band's weights stay in the L2.
CUBINET_DEVICE Tile locate(const Run& run, int index, int columns, u32 rank) {
  const int size = tile_tokens(run.rows);
  const int token_tiles = ceil_div(run.rows, size);
  int token_tile, column_tile;
  if constexpr (kRasterBand == 0) {
    column_tile = index / token_tiles;
    token_tile = index - column_tile * token_tiles;
  } else {
    const int band = index / (kRasterBand * token_tiles);
    const int rest = index - band * kRasterBand * token_tiles;
    const int width = columns - band * kRasterBand < kRasterBand ? columns - band * kRasterBand : kRasterBand;
    token_tile = rest / width;
    column_tile = band * kRasterBand + rest - token_tile * width;
  }
  Tile tile;
  const int start = token_tile * size;
  tile.first_row = run.first_row + start;
  tile.tokens = run.rows - start < size ? run.rows - start : size;
  tile.column = (column_tile * kCluster + static_cast<int>(rank)) * kBlockColumns;
  tile.group = run.group;
  tile.has_holes = run.has_holes;
  return tile;
}

// The ring of decoded tiles, as each role walks it.
struct TileRing {
  int slot = 0;
  u32 parity = 0;

  __device__ __forceinline__ void advance() {
    if (++slot == kTileSlots) {
      slot = 0;
      parity ^= 1;
    }
  }

  // By one thread.
  __device__ __forceinline__ void publish(Control& control, const Tile& tile) {
    ptx::mbarrier_wait(ptx::shared_address(&control.tile_empty[slot]), parity ^ 1);
    const u32 address = ptx::shared_address(&control.tiles[slot]);
    ptx::store_shared_v4(address, Int4{tile.first_row, tile.tokens, tile.column, tile.group});
    ptx::store_shared_v4(address + 16, Int4{tile.has_holes, 0, 0, 0});
    ptx::mbarrier_arrive(ptx::shared_address(&control.tile_full[slot]));
    advance();
  }

  // By a whole warp, or by one thread alone with `lane` 0.
  template <bool kWholeWarp>
  __device__ __forceinline__ Tile take(Control& control, int lane) {
    ptx::mbarrier_wait(ptx::shared_address(&control.tile_full[slot]), parity);
    const u32 address = ptx::shared_address(&control.tiles[slot]);
    const Int4 head = ptx::load_shared_v4(address);
    const Int4 tail = ptx::load_shared_v4(address + 16);
    if constexpr (kWholeWarp) __syncwarp();
    if (lane == 0) ptx::mbarrier_arrive(ptx::shared_address(&control.tile_empty[slot]));
    advance();
    return Tile{head.x, head.y, head.z, head.w, tail.x, {}};
  }
};

// The scheduler warp's life.
template <class Rows>
CUBINET_DEVICE void schedule(const Parameters& p, Control& control, const int* scanned, int position, int runs,
                             u32 cluster, u32 clusters, u32 rank, int lane) {
  const int columns = column_tiles(p);
  TileRing ring;
  int index = static_cast<int>(cluster);
  for (;;) {
    if constexpr (kLargestFirst) order_largest_first(control, runs, lane);
    const int total = count_tiles(control, runs, columns, lane);
    if (lane == 0) {
      int run = 0;
      for (; index < total; index += static_cast<int>(clusters)) {
        while (index >= control.first_tile[run + 1]) ++run;
        ring.publish(control, locate(control.runs[kLargestFirst ? control.order[run] : run],
                                     index - control.first_tile[run], columns, rank));
      }
    }
    index = __shfl_sync(kAllLanes, index, 0) - total;
    if (Rows::done(p, position)) break;
    runs = Rows::fill(p, control, position, nullptr, lane);
  }
  if (lane == 0) ring.publish(control, Tile{});
}

}  // namespace cubinet
