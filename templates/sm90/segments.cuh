// From rows to segments: both layouts say which rows belong to which group, each in its own way, and this file turns
// that into one form. A segment is a stretch of consecutive rows of one group. A window holds at most kMaxSegments of
// them; the scheduler processes as many windows as the rows need.
#pragma once

#include "layout.cuh"
#include "ptx/sync.cuh"

namespace cubinet {

constexpr u32 kAllLanes = 0xffffffffu;

// A row block of the contiguous layout, packed in one word: the number of rows up to the last valid one (0 to 128),
// whether padding rows lie between valid ones, and the group.
CUBINET_DEVICE int pack_block(int rows, bool has_padding, int group) {
  return rows | (has_padding ? 0x100 : 0) | (group << 9);
}
CUBINET_DEVICE int block_rows(int block) { return block & 0xff; }
CUBINET_DEVICE bool block_has_padding(int block) { return (block & 0x100) != 0; }
CUBINET_DEVICE int block_group(int block) { return block >> 9; }

// Rows of a row block that one lane of a warp reads: every 32nd. So the warp's loads coalesce, and m_indices needs only
// the alignment of an int.
constexpr int kLaneRows = kRowBlock / 32;

// Loads the lane's m_indices of a row block. Rows at or beyond M count as padding.
CUBINET_DEVICE void load_m_indices(const Parameters& p, int block, int lane, int (&m_indices)[kLaneRows]) {
#pragma unroll
  for (int i = 0; i < kLaneRows; ++i) {
    const int row = block * kRowBlock + i * 32 + lane;
    m_indices[i] = row < p.rows ? ptx::load_global(p.grouping + row) : -1;
  }
}

// The row block packed in one word, in every lane.
CUBINET_DEVICE int summarize_block(const int (&m_indices)[kLaneRows], int lane) {
  int valid = 0, end = 0, group = -1;
#pragma unroll
  for (int i = 0; i < kLaneRows; ++i) {
    if (m_indices[i] < 0) continue;
    ++valid;
    end = i * 32 + lane + 1;
    group = m_indices[i] > group ? m_indices[i] : group;
  }
  valid = __reduce_add_sync(kAllLanes, valid);
  end = __reduce_max_sync(kAllLanes, end);
  return pack_block(end, valid != end, __reduce_max_sync(kAllLanes, group) & 0x3fffff);
}

// Writes the packed words of row blocks [first, first + count) to `blocks`. The blocks are divided among `warps` warps.
// Each warp has the loads of kInFlight blocks in flight, so a scan takes a few round trips to the L2, not one per
// block.
template <int kInFlight>
CUBINET_DEVICE void scan_m_indices(const Parameters& p, int first, int count, int* blocks, int warp, int warps,
                                   int lane) {
#pragma unroll 1
  for (int i = warp; i < count; i += warps * kInFlight) {
    int m_indices[kInFlight][kLaneRows];
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) load_m_indices(p, first + i + j * warps, lane, m_indices[j]);
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      const int block = summarize_block(m_indices[j], lane);
      if (lane == 0 && i + j * warps < count) blocks[i + j * warps] = block;
    }
  }
}

// Appends the segments of up to 32 consecutive row blocks, one per lane, to the window. `carry` is the block before
// them, or 0 if the window has none. Returns how many blocks were taken: fewer than `count` if the window is full.
CUBINET_DEVICE int append_blocks(Control& control, int& segments, int& carry, int block, int first, int count,
                                 int lane) {
  const bool inside = lane < count;
  if (!inside) block = 0;
  int before = __shfl_up_sync(kAllLanes, block, 1);
  if (lane == 0) before = carry;
  const bool continues = block_rows(before) == kRowBlock && !block_has_padding(before) && !block_has_padding(block) &&
                         block_group(before) == block_group(block);
  const bool starts = block_rows(block) > 0 && !continues;
  const u32 start_lanes = __ballot_sync(kAllLanes, starts);
  const int segment = segments + __popc(start_lanes & (kAllLanes >> (31 - lane))) - 1;
  const u32 overflow = __ballot_sync(kAllLanes, block_rows(block) > 0 && segment >= kMaxSegments);
  const int taken = overflow ? __ffs(static_cast<int>(overflow)) - 1 : count;
  if (starts && lane < taken) {
    control.segments[segment] = Segment{(first + lane) * kRowBlock, 0, block_group(block), block_has_padding(block)};
  }
  __syncwarp();
  if (block_rows(block) > 0 && lane < taken) atomicAdd(&control.segments[segment].rows, block_rows(block));
  __syncwarp();
  const u32 kept = taken >= 32 ? start_lanes : start_lanes & ((1u << taken) - 1);
  segments += __popc(kept);
  carry = __shfl_sync(kAllLanes, block, 31);
  return taken;
}

// The contiguous layout: m_indices has each row's group. `position` counts row blocks.
struct ContiguousRows {
  static constexpr bool kHasPadding = true;

  // Called by all warps before they take their roles. Scans up to kScanBlocks row blocks into `borrowed`, shared memory
  // that the pipeline does not use yet.
  static __device__ __forceinline__ void scan_together(const Parameters& p, int* borrowed, int warp, int lane) {
    const int blocks = ceil_div(p.rows, kRowBlock);
    scan_m_indices<4>(p, 0, blocks < kScanBlocks ? blocks : kScanBlocks, borrowed, warp, kWarps, lane);
  }

  // Called by one warp: fills the window that starts at `position`, and advances `position`. Returns the number of
  // segments. `scanned` is the result of scan_together, or null once that memory is in use; then m_indices are read
  // again, 32 blocks at a time.
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
        scan_m_indices<kLaterScans>(p, position, count, control.scratch, 0, 1, lane);
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

  // Whether `position` is at the end of the rows.
  static __device__ __forceinline__ bool done(const Parameters& p, int position) {
    return position >= ceil_div(p.rows, kRowBlock);
  }

  // The token scales of the tile's first row and first K block.
  static __device__ __forceinline__ const float* scales_of(const Parameters& p, const Tile& tile) {
    return p.token_scales + tile.first_row;
  }

  // Whether a row of a segment with padding is valid.
  static __device__ __forceinline__ bool is_valid(const Parameters& p, int row) {
    return ptx::load_global(p.grouping + row) >= 0;
  }
};

// The masked layout: masked_m has each group's number of valid rows. `position` counts groups. A group is one segment.
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
