// Rows to runs: what the two layouts say about rows, brought into one form. A run is a stretch of rows of one group;
// a window holds at most kMaxRuns of them, and a kernel walks as many windows as there are rows.
#pragma once

#include "layout.cuh"
#include "ptx/sync.cuh"

namespace cubinet {

constexpr u32 kAllLanes = 0xffffffffu;

// A row block of the contiguous layout in one word: valid rows up to the last valid one (0..128), whether -1 lies
// between valid rows, and the group.
CUBINET_DEVICE int pack_block(int rows, bool has_holes, int group) {
  return rows | (has_holes ? 0x100 : 0) | (group << 9);
}
CUBINET_DEVICE int block_rows(int block) { return block & 0xff; }
CUBINET_DEVICE bool block_has_holes(int block) { return (block & 0x100) != 0; }
CUBINET_DEVICE int block_group(int block) { return block >> 9; }

// Reads the labels of one row block with one warp; every lane returns the packed block.
CUBINET_DEVICE Int4 load_labels(const Parameters& p, int block, int lane) {
  const int row = block * kRowBlock + lane * 4;
  if (row + 4 <= p.rows) return ptx::load_global_v4(p.row_info + row);
  Int4 labels{-1, -1, -1, -1};
  int* label = &labels.x;
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    if (row + i < p.rows) label[i] = ptx::load_global(p.row_info + row + i);
  }
  return labels;
}

CUBINET_DEVICE int summarise_labels(Int4 labels, int lane) {
  const int valid = (labels.x >= 0) + (labels.y >= 0) + (labels.z >= 0) + (labels.w >= 0);
  const int last = labels.w >= 0 ? 4 : labels.z >= 0 ? 3 : labels.y >= 0 ? 2 : labels.x >= 0 ? 1 : 0;
  int group = labels.x > labels.y ? labels.x : labels.y;
  group = labels.z > group ? labels.z : group;
  group = labels.w > group ? labels.w : group;
  const int count = __reduce_add_sync(kAllLanes, valid);
  const int end = __reduce_max_sync(kAllLanes, last ? lane * 4 + last : 0);
  return pack_block(end, count != end, __reduce_max_sync(kAllLanes, group) & 0x3fffff);
}

// Summarises blocks [first, first + count) into `blocks`, the block numbers dealt over `warps` warps. kInFlight loads
// are in flight per warp, so that a scan costs a few round trips to the L2 and not one per block.
template <int kInFlight>
CUBINET_DEVICE void scan_labels(const Parameters& p, int first, int count, int* blocks, int warp, int warps, int lane) {
#pragma unroll 1
  for (int i = warp; i < count; i += warps * kInFlight) {
    Int4 labels[kInFlight];
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      labels[j] = Int4{-1, -1, -1, -1};
      if (i + j * warps < count) labels[j] = load_labels(p, first + i + j * warps, lane);
    }
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      const int block = summarise_labels(labels[j], lane);
      if (lane == 0 && i + j * warps < count) blocks[i + j * warps] = block;
    }
  }
}

// Appends the runs of up to 32 consecutive row blocks, one per lane; `carry` is the block before them (0 if none of
// this window). Returns how many blocks were taken: fewer than `count` when the window is full.
CUBINET_DEVICE int append_blocks(Control& control, int& runs, int& carry, int block, int first, int count, int lane) {
  const bool inside = lane < count;
  if (!inside) block = 0;
  int before = __shfl_up_sync(kAllLanes, block, 1);
  if (lane == 0) before = carry;
  const bool continues = block_rows(before) == kRowBlock && !block_has_holes(before) && !block_has_holes(block) &&
                         block_group(before) == block_group(block);
  const bool starts = block_rows(block) > 0 && !continues;
  const u32 start_lanes = __ballot_sync(kAllLanes, starts);
  const int run = runs + __popc(start_lanes & (kAllLanes >> (31 - lane))) - 1;
  const u32 overflow = __ballot_sync(kAllLanes, block_rows(block) > 0 && run >= kMaxRuns);
  const int taken = overflow ? __ffs(static_cast<int>(overflow)) - 1 : count;
  if (starts && lane < taken) {
    control.runs[run] = Run{(first + lane) * kRowBlock, 0, block_group(block), block_has_holes(block)};
  }
  __syncwarp();
  if (block_rows(block) > 0 && lane < taken) atomicAdd(&control.runs[run].rows, block_rows(block));
  __syncwarp();
  const u32 kept = taken >= 32 ? start_lanes : start_lanes & ((1u << taken) - 1);
  runs += __popc(kept);
  carry = __shfl_sync(kAllLanes, block, 31);
  return taken;
}

// The contiguous layout: labels per row. `position` counts row blocks.
struct ContiguousRows {
  static constexpr bool kHoles = true;

  // By all warps, before the roles part. `borrowed` is shared memory that nobody uses yet.
  static __device__ __forceinline__ void scan_together(const Parameters& p, int* borrowed, int warp, int lane) {
    const int blocks = ceil_div(p.rows, kRowBlock);
    scan_labels<4>(p, 0, blocks < kScanBlocks ? blocks : kScanBlocks, borrowed, warp, kWarps, lane);
  }

  // By one warp: fills the window that starts at `position`, which moves on. Returns the number of runs. `scanned` is
  // the result of scan_together, or null when it is gone; then the labels are read again, 32 blocks at a time.
  static __device__ __forceinline__ int fill(const Parameters& p, Control& control, int& position, const int* scanned,
                                             int lane) {
    const int blocks = ceil_div(p.rows, kRowBlock);
    const int end = scanned && blocks > kScanBlocks ? kScanBlocks : blocks;
    int runs = 0, carry = 0;
#pragma unroll 1
    while (position < end) {
      const int count = end - position < 32 ? end - position : 32;
      int block = 0;
      if (scanned) {
        block = lane < count ? scanned[position + lane] : 0;
      } else {
        scan_labels<2>(p, position, count, control.scratch, 0, 1, lane);
        __syncwarp();
        block = control.scratch[lane];
        __syncwarp();
      }
      const int taken = append_blocks(control, runs, carry, block, position, count, lane);
      position += taken;
      if (taken < count) break;
    }
    return runs;
  }

  static __device__ __forceinline__ bool done(const Parameters& p, int position) {
    return position >= ceil_div(p.rows, kRowBlock);
  }

  // Whether a row of a run with holes belongs to it.
  static __device__ __forceinline__ bool is_valid(const Parameters& p, int row) {
    return ptx::load_global(p.row_info + row) >= 0;
  }
};

// The masked layout: valid rows per group. `position` counts groups.
struct MaskedRows {
  static constexpr bool kHoles = false;

  static __device__ __forceinline__ void scan_together(const Parameters&, int*, int, int) {}

  static __device__ __forceinline__ int fill(const Parameters& p, Control& control, int& position, const int*,
                                             int lane) {
    int runs = 0;
#pragma unroll 1
    while (position < p.groups && runs + 32 <= kMaxRuns) {
      const int group = position + lane;
      int rows = group < p.groups ? ptx::load_global(p.row_info + group) : 0;
      rows = rows > p.rows ? p.rows : rows;
      const u32 present = __ballot_sync(kAllLanes, rows > 0);
      if (rows > 0) {
        control.runs[runs + __popc(present & ((1u << lane) - 1))] = Run{group * p.rows, rows, group, 0};
      }
      runs += __popc(present);
      position += 32;
    }
    __syncwarp();
    return runs;
  }

  static __device__ __forceinline__ bool done(const Parameters& p, int position) { return position >= p.groups; }
  static __device__ __forceinline__ bool is_valid(const Parameters&, int) { return true; }
};

}  // namespace cubinet
