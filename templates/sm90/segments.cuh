// Rows to segments: what the two layouts say about rows, brought into one form. A run is a stretch of rows of one group;
// a window holds at most kMaxSegments of them, and a kernel walks as many windows as there are rows.
#pragma once

#include "layout.cuh"
#include "ptx/sync.cuh"

namespace cubinet {

constexpr u32 kAllLanes = 0xffffffffu;

// A row block of the contiguous layout in one word: valid rows up to the last valid one (0..128), whether -1 lies
// between valid rows, and the group.
CUBINET_DEVICE int pack_block(int rows, bool has_padding, int group) {
  return rows | (has_padding ? 0x100 : 0) | (group << 9);
}
CUBINET_DEVICE int block_rows(int block) { return block & 0xff; }
CUBINET_DEVICE bool block_has_padding(int block) { return (block & 0x100) != 0; }
CUBINET_DEVICE int block_group(int block) { return block >> 9; }

// The labels of a row block that one lane of a warp looks at: every 32nd, so that the warp's loads coalesce and need no
// more than the alignment of an int. Rows beyond M count as padding.
constexpr int kLaneLabels = kRowBlock / 32;

CUBINET_DEVICE void load_labels(const Parameters& p, int block, int lane, int (&labels)[kLaneLabels]) {
#pragma unroll
  for (int i = 0; i < kLaneLabels; ++i) {
    const int row = block * kRowBlock + i * 32 + lane;
    labels[i] = row < p.rows ? ptx::load_global(p.grouping + row) : -1;
  }
}

// The block in one word, in every lane.
CUBINET_DEVICE int summarise_labels(const int (&labels)[kLaneLabels], int lane) {
  int valid = 0, end = 0, group = -1;
#pragma unroll
  for (int i = 0; i < kLaneLabels; ++i) {
    if (labels[i] < 0) continue;
    ++valid;
    end = i * 32 + lane + 1;
    group = labels[i] > group ? labels[i] : group;
  }
  valid = __reduce_add_sync(kAllLanes, valid);
  end = __reduce_max_sync(kAllLanes, end);
  return pack_block(end, valid != end, __reduce_max_sync(kAllLanes, group) & 0x3fffff);
}

// Summarises blocks [first, first + count) into `blocks`, the block numbers dealt over `warps` warps. The loads of
// kInFlight blocks are in flight per warp, so that a scan costs a few round trips to the L2 and not one per block.
template <int kInFlight>
CUBINET_DEVICE void scan_labels(const Parameters& p, int first, int count, int* blocks, int warp, int warps, int lane) {
#pragma unroll 1
  for (int i = warp; i < count; i += warps * kInFlight) {
    int labels[kInFlight][kLaneLabels];
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) load_labels(p, first + i + j * warps, lane, labels[j]);
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      const int block = summarise_labels(labels[j], lane);
      if (lane == 0 && i + j * warps < count) blocks[i + j * warps] = block;
    }
  }
}

// Appends the segments of up to 32 consecutive row blocks, one per lane; `carry` is the block before them (0 if none of
// this window). Returns how many blocks were taken: fewer than `count` when the window is full.
CUBINET_DEVICE int append_blocks(Control& control, int& segments, int& carry, int block, int first, int count, int lane) {
  const bool inside = lane < count;
  if (!inside) block = 0;
  int before = __shfl_up_sync(kAllLanes, block, 1);
  if (lane == 0) before = carry;
  const bool continues = block_rows(before) == kRowBlock && !block_has_padding(before) && !block_has_padding(block) &&
                         block_group(before) == block_group(block);
  const bool starts = block_rows(block) > 0 && !continues;
  const u32 start_lanes = __ballot_sync(kAllLanes, starts);
  const int run = segments + __popc(start_lanes & (kAllLanes >> (31 - lane))) - 1;
  const u32 overflow = __ballot_sync(kAllLanes, block_rows(block) > 0 && run >= kMaxSegments);
  const int taken = overflow ? __ffs(static_cast<int>(overflow)) - 1 : count;
  if (starts && lane < taken) {
    control.segments[run] = Segment{(first + lane) * kRowBlock, 0, block_group(block), block_has_padding(block)};
  }
  __syncwarp();
  if (block_rows(block) > 0 && lane < taken) atomicAdd(&control.segments[run].rows, block_rows(block));
  __syncwarp();
  const u32 kept = taken >= 32 ? start_lanes : start_lanes & ((1u << taken) - 1);
  segments += __popc(kept);
  carry = __shfl_sync(kAllLanes, block, 31);
  return taken;
}

// The contiguous layout: labels per row. `position` counts row blocks.
struct ContiguousRows {
  static constexpr bool kHasPadding = true;

  // By all warps, before the roles part. `borrowed` is shared memory that nobody uses yet.
  static __device__ __forceinline__ void scan_together(const Parameters& p, int* borrowed, int warp, int lane) {
    const int blocks = ceil_div(p.rows, kRowBlock);
    scan_labels<4>(p, 0, blocks < kScanBlocks ? blocks : kScanBlocks, borrowed, warp, kWarps, lane);
  }

  // By one warp: fills the window that starts at `position`, which moves on. Returns the number of segments. `scanned` is
  // the result of scan_together, or null when it is gone; then the labels are read again, 32 blocks at a time.
  static __device__ __forceinline__ int fill(const Parameters& p, Control& control, int& position, const int* scanned,
                                             int lane) {
    const int blocks = ceil_div(p.rows, kRowBlock);
    const int end = scanned && blocks > kScanBlocks ? kScanBlocks : blocks;
    int segments = 0, carry = 0;
#pragma unroll 1
    while (position < end) {
      const int count = end - position < 32 ? end - position : 32;
      int block = 0;
      if (scanned) {
        block = lane < count ? scanned[position + lane] : 0;
      } else {
        scan_labels<kLaterScans>(p, position, count, control.scratch, 0, 1, lane);
        __syncwarp();
        block = control.scratch[lane];
        __syncwarp();
      }
      const int taken = append_blocks(control, segments, carry, block, position, count, lane);
      position += taken;
      if (taken < count) break;
    }
    return segments;
  }

  static __device__ __forceinline__ bool done(const Parameters& p, int position) {
    return position >= ceil_div(p.rows, kRowBlock);
  }

  // Token scales of the tile's first row, first K block.
  static __device__ __forceinline__ const float* scales_of(const Parameters& p, const Tile& tile) {
    return p.token_scales + tile.first_row;
  }

  // Whether a row of a run with holes belongs to it.
  static __device__ __forceinline__ bool is_valid(const Parameters& p, int row) {
    return ptx::load_global(p.grouping + row) >= 0;
  }
};

// The masked layout: valid rows per group. `position` counts groups.
struct MaskedRows {
  static constexpr bool kHasPadding = false;

  static __device__ __forceinline__ void scan_together(const Parameters&, int*, int, int) {}

  static __device__ __forceinline__ int fill(const Parameters& p, Control& control, int& position, const int*,
                                             int lane) {
    int segments = 0;
#pragma unroll 1
    while (position < p.groups && segments + 32 <= kMaxSegments) {
      const int group = position + lane;
      int rows = group < p.groups ? ptx::load_global(p.grouping + group) : 0;
      rows = rows > p.rows ? p.rows : rows;
      const u32 present = __ballot_sync(kAllLanes, rows > 0);
      if (rows > 0) {
        control.segments[segments + __popc(present & ((1u << lane) - 1))] = Segment{group * p.rows, rows, group, 0};
      }
      segments += __popc(present);
      position += 32;
    }
    __syncwarp();
    return segments;
  }

  static __device__ __forceinline__ bool done(const Parameters& p, int position) { return position >= p.groups; }

  static __device__ __forceinline__ const float* scales_of(const Parameters& p, const Tile& tile) {
    const long long group_scales = scale_rows(p) * (depth_of(p) / kStageDepth);
    return p.token_scales + tile.group * group_scales + (tile.first_row - tile.group * p.rows);
  }

  static __device__ __forceinline__ bool is_valid(const Parameters&, int) { return true; }
};

}  // namespace cubinet
