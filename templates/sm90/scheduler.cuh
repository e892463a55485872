// The scheduler: one warp per CTA cuts segments into tiles, deals the tiles to the clusters of the persistent grid, and
// passes this CTA's tiles to the producer and the consumers through a ring in shared memory. Every CTA computes the
// same schedule from the same rows, so CTAs share no state and a launch needs no workspace.
#pragma once

#include "layout.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/sync.cuh"
#include "segments.cuh"

namespace cubinet {

// Tokens of a tile of a segment with `rows` rows, at most `limit`. Up to four tiles are made equal, in units of 8; more
// tiles have `limit` tokens each.
CUBINET_DEVICE int tile_tokens(int rows, int limit) {
  const int tiles = ceil_div(rows, limit);
  if (tiles > 4) return limit;
  return (ceil_div(rows, tiles) + 7) & ~7;
}

// The size class of a tile: steps of 16 tokens, class 0 has the largest tiles.
CUBINET_DEVICE int size_class(int tokens) { return kSizeClasses - 1 - (tokens - 1) / 16; }

// The sum of `value` over this lane and all lanes before it.
CUBINET_DEVICE int inclusive_sum(int value, int lane) {
#pragma unroll
  for (int o = 1; o < 32; o <<= 1) {
    const int y = __shfl_up_sync(kAllLanes, value, o);
    if (lane >= o) value += y;
  }
  return value;
}

// Estimated cycles of a tile: loading its operands from the L2, which bounds the rate of tall tiles, and an epilogue
// that nothing overlaps. The constants are fitted to measurements on an H200 (bench/results).
CUBINET_DEVICE float tile_cycles(const Parameters& p, int tokens) {
  constexpr float kPerToken = 3.0f, kPerBlock = 400.0f, kEpilogue = 3300.0f;
  return static_cast<float>(depth_of(p) / 64) * (kPerToken * static_cast<float>(tokens) + kPerBlock) + kEpilogue;
}

// Chooses the tile height: the most tokens of a tile. The tallest tiles are the most efficient, but a small number of
// them may leave a last round in which most CTAs are idle. Of four heights (8, 7, 6 and 5 eighths of kBlockTokens) this
// takes the one whose slowest CTA is estimated to finish first. Tiles are dealt in rounds, largest first, so the
// slowest CTA is the one that gets the first tile of every round. A lower height must gain at least 3 %. Quotients are
// computed in floating point, because this is only an estimate.
CUBINET_DEVICE int choose_tile_limit(const Parameters& p, Control& control, int segments, int columns, int clusters,
                                     int lane) {
  int most = 0;
  for (int i = lane; i < segments; i += 32) most = control.segments[i].rows > most ? control.segments[i].rows : most;
  if (__reduce_max_sync(kAllLanes, most) <= kBlockTokens) return kBlockTokens;  // every segment is one tile
  const int candidate = lane & 3;
  const float limit = static_cast<float>(kBlockTokens / 8 * (8 - candidate));
  for (int i = lane; i < 4 * kSizeClasses; i += 32) control.tile_counts[i] = 0;
  __syncwarp();
#pragma unroll 1
  for (int i = lane >> 2; i < segments; i += 8) {
    const float rows = static_cast<float>(control.segments[i].rows);
    const float tiles = ceilf(__fdividef(rows, limit));
    const int size = static_cast<int>(tiles > 4.0f ? limit : ceilf(__fdividef(rows, tiles)));
    atomicAdd(&control.tile_counts[candidate * kSizeClasses + size_class(size)], static_cast<int>(tiles));
  }
  __syncwarp();
  int best = kBlockTokens;
  float best_cycles = 0.0f;
  const float per_round = __fdividef(1.0f, static_cast<float>(clusters));
#pragma unroll 1
  for (int c = 0; c < 4; ++c) {
    const int count = lane < kSizeClasses ? control.tile_counts[c * kSizeClasses + lane] * columns : 0;
    const int end = inclusive_sum(count, lane);
    const float rounds =
        ceilf(static_cast<float>(end) * per_round) - ceilf(static_cast<float>(end - count) * per_round);
    const float cycles = rounds * tile_cycles(p, (kSizeClasses - lane) * 16);
    const float total = static_cast<float>(__reduce_add_sync(kAllLanes, static_cast<u32>(cycles)));
    if (c == 0 || total < best_cycles * 0.97f) {
      best_cycles = total;
      best = kBlockTokens / 8 * (8 - c);
    }
  }
  return best;
}

// Sorts the window's segments by tile size, largest first, into control.order: a deterministic counting sort.
CUBINET_DEVICE void order_largest_first(Control& control, int segments, int limit, int lane) {
  int* starts = control.tile_counts;
  if (lane < kSizeClasses) starts[lane] = 0;
  __syncwarp();
#pragma unroll 1
  for (int i = lane; i < segments; i += 32)
    atomicAdd(&starts[size_class(tile_tokens(control.segments[i].rows, limit))], 1);
  __syncwarp();
  const int count = lane < kSizeClasses ? starts[lane] : 0;
  const int end = inclusive_sum(count, lane);
  if (lane < kSizeClasses) starts[lane] = end - count;
  __syncwarp();
#pragma unroll 1
  for (int i = lane; i < ((segments + 31) & ~31); i += 32) {
    const int key = i < segments ? size_class(tile_tokens(control.segments[i].rows, limit)) : -1;
    const u32 peers = __match_any_sync(kAllLanes, key);
    const int rank = __popc(peers & ((1u << lane) - 1));
    const int base = key >= 0 ? starts[key] : 0;
    __syncwarp();
    if (key >= 0) {
      control.order[base + rank] = static_cast<unsigned char>(i);
      if (rank == 0) starts[key] = base + __popc(peers);
    }
    __syncwarp();
  }
}

// With tokens on M a segment has a body, whose tiles are scheduled together, and a tail, its last and smaller tile.
// Returns the rows of the body. Scheduling the tail on its own divides the work among CTAs more evenly but reads the
// weights again; it pays off beside more than four tiles. With fewer, the body is the whole segment; a segment of a
// single tile is all tail.
CUBINET_DEVICE int body_rows(int rows) {
  if (rows <= kBlockTokens) return 0;
  return rows > 4 * kBlockTokens ? rows / kBlockTokens * kBlockTokens : rows;
}

// Orders bodies and tails, with tokens on M. The time of a tile depends on how many warpgroups have rows of it; tiles
// that occupy most warpgroups come first. Returns the number of pieces. The value 2 i in control.order stands for the
// body of segment i, 2 i + 1 for its tail.
CUBINET_DEVICE int order_busiest_first(Control& control, int segments, int lane) {
  int pieces = 0;
#pragma unroll 1
  for (int busy = kConsumerWarpgroups; busy > 0; --busy) {
#pragma unroll 1
    for (int i = lane; i < ((segments + 31) & ~31); i += 32) {
      const int rows = i < segments ? control.segments[i].rows : 0;
      const bool body = busy == kConsumerWarpgroups && body_rows(rows) > 0;
      const bool tail = ceil_div(rows - body_rows(rows), kWarpgroupRows) == busy;
      const u32 bodies = __ballot_sync(kAllLanes, body), tails = __ballot_sync(kAllLanes, tail);
      const u32 below = (1u << lane) - 1;
      int place = pieces + __popc(bodies & below) + __popc(tails & below);
      if (body) control.order[place++] = static_cast<unsigned char>(2 * i);
      if (tail) control.order[place] = static_cast<unsigned char>(2 * i + 1);
      pieces += __popc(bodies) + __popc(tails);
    }
  }
  __syncwarp();
  return pieces;
}

// The window's i-th segment, or piece of a segment, in the order of the schedule.
CUBINET_DEVICE Segment segment_at(const Control& control, int i) {
  if constexpr (!kLargestFirst) return control.segments[i];
  const int entry = control.order[i];
  if constexpr (!kTailsApart) return control.segments[entry];
  Segment piece = control.segments[entry >> 1];
  const int body = body_rows(piece.rows);
  if (entry & 1) piece.first_row += body;
  piece.rows = entry & 1 ? piece.rows - body : body;
  return piece;
}

// Fills in control.first_tile for the window's segments, in the order of the schedule. Returns the number of tiles.
CUBINET_DEVICE int count_tiles(Control& control, int segments, int limit, int columns, int lane) {
  int total = 0;
#pragma unroll 1
  for (int i = lane; i < ((segments + 31) & ~31); i += 32) {
    int tiles = 0;
    if (i < segments) {
      const int rows = segment_at(control, i).rows;
      tiles = ceil_div(rows, tile_tokens(rows, limit)) * columns;
    }
    const int end = inclusive_sum(tiles, lane);
    if (i < segments) control.first_tile[i] = total + end - tiles;
    total += __shfl_sync(kAllLanes, end, 31);
  }
  if (lane == 0) control.first_tile[segments] = total;
  __syncwarp();
  return total;
}

// The index-th tile of a segment, for the CTA of this rank in the cluster. If kRasterBand is 0, token tiles vary
// fastest, so that tiles which share weights run at the same time. Otherwise column tiles vary fastest, within bands of
// kRasterBand column tiles, so that a band's weights stay in the L2.
CUBINET_DEVICE Tile locate(const Segment& segment, int limit, int index, int columns, u32 rank) {
  const int size = tile_tokens(segment.rows, limit);
  const int token_tiles = ceil_div(segment.rows, size);
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
  tile.first_row = segment.first_row + start;
  tile.tokens = segment.rows - start < size ? segment.rows - start : size;
  tile.column = (column_tile * kCluster + static_cast<int>(rank)) * kBlockColumns;
  tile.group = segment.group;
  tile.has_padding = segment.has_padding;
  return tile;
}

// A role's position in the ring of tiles.
struct TileRing {
  int slot = 0;
  u32 parity = 0;

  __device__ __forceinline__ void advance() {
    if (++slot == kTileSlots) {
      slot = 0;
      parity ^= 1;
    }
  }

  // Called by one thread of the scheduler warp. Waits for a free slot.
  __device__ __forceinline__ void publish(Control& control, const Tile& tile) {
    ptx::mbarrier_wait(ptx::shared_address(&control.tile_empty[slot]), parity ^ 1);
    const u32 address = ptx::shared_address(&control.tiles[slot]);
    ptx::store_shared_v4(address, Int4{tile.first_row, tile.tokens, tile.column, tile.group});
    ptx::store_shared_v4(address + 16, Int4{tile.has_padding, 0, 0, 0});
    ptx::mbarrier_arrive(ptx::shared_address(&control.tile_full[slot]));
    advance();
  }

  // Called by every consumer thread and by the producer thread. Waits for the next tile and releases its slot.
  __device__ __forceinline__ Tile take(Control& control) {
    ptx::mbarrier_wait(ptx::shared_address(&control.tile_full[slot]), parity);
    const u32 address = ptx::shared_address(&control.tiles[slot]);
    const Int4 head = ptx::load_shared_v4(address);
    const Int4 tail = ptx::load_shared_v4(address + 16);
    ptx::mbarrier_arrive(ptx::shared_address(&control.tile_empty[slot]));
    advance();
    return Tile{head.x, head.y, head.z, head.w, tail.x, {}};
  }
};

// The index of the tile that a cluster gets in a round. If tiles come largest first, every other round is dealt in
// reverse order, so that the cluster with the larger tile of one round gets the smaller tile of the next.
CUBINET_DEVICE int deal(int round, int cluster, int clusters) {
  const int place = kLargestFirst && (round & 1) ? clusters - 1 - cluster : cluster;
  return round * clusters + place;
}

// The loop of the scheduler warp, until all tiles are dealt. The first window has been filled: it holds `segments`
// segments and ends at `position`.
template <class Rows>
CUBINET_DEVICE void schedule(const Parameters& p, Control& control, int position, int segments, int cluster,
                             int clusters, u32 rank, int lane) {
  const int columns = column_tiles(p);
  TileRing ring;
  int round = 0, dealt = 0;  // rounds so far; tiles of earlier windows
  for (;;) {
    int limit = kBlockTokens;
    if constexpr (kTailsApart) {
      segments = order_busiest_first(control, segments, lane);
    } else if constexpr (kLargestFirst) {
      limit = choose_tile_limit(p, control, segments, columns, clusters, lane);
      order_largest_first(control, segments, limit, lane);
    }
    const int total = count_tiles(control, segments, limit, columns, lane);
    if (lane == 0) {
      int segment = 0;
#pragma unroll 1
      for (int index; (index = deal(round, cluster, clusters) - dealt) < total; ++round) {
        while (index >= control.first_tile[segment + 1]) ++segment;
        const int within = index - control.first_tile[segment];
        ring.publish(control, locate(segment_at(control, segment), limit, within, columns, rank));
      }
    }
    round = __shfl_sync(kAllLanes, round, 0);
    dealt += total;
    if (Rows::done(p, position)) break;
    segments = Rows::fill(p, control, position, nullptr, lane);
  }
  if (lane == 0) ring.publish(control, Tile{});
}

}  // namespace cubinet
