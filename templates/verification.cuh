// The family "verification": kernels that check the other kernels. They fill operands with seeded random numbers,
// compute an FP32 reference product and compare it with an output, and search for writes to memory that must not be
// written.
//
// The family has no constants; every size is a run-time value. The reference shares no code with the templates that it
// checks, and uses no tensor core, no TMA and no barrier except __syncthreads. So an error in the use of those cannot
// be in both.
#pragma once

#include "verification_numbers.cuh"
#include "verification_product.cuh"

namespace cubinet_verification {

// Eight consecutive elements of a row of D: 16 bytes, aligned because row lengths are multiples of 8.
__device__ __forceinline__ uint4 load_eight(const u16* base, i64 row, i64 n, i64 column) {
  return *reinterpret_cast<const uint4*>(base + row * n + column);
}

}  // namespace cubinet_verification

// Sets out[i] to element `first + i` of the random bf16 stream `seed`, for i < count. `out` is aligned to 16 bytes.
extern "C" __global__ void __launch_bounds__(cubinet_verification::kThreads)
    verification_fill_random(unsigned short* out, long long count, unsigned long long seed, unsigned long long first) {
  using namespace cubinet_verification;
  for (i64 i = global_thread(); i < count / 8; i += thread_count()) {
    const u64 index = first + static_cast<u64>(i) * 8;
    reinterpret_cast<uint4*>(out)[i] = make_uint4(random_pair(seed, index), random_pair(seed, index + 2),
                                                  random_pair(seed, index + 4), random_pair(seed, index + 6));
  }
  const i64 tail = count / 8 * 8 + global_thread();
  if (tail < count) out[tail] = static_cast<u16>(random_bf16(seed, first + static_cast<u64>(tail)));
}

// Sets out[i] to element i of the random e4m3 stream `seed`. `count` is a multiple of 16.
extern "C" __global__ void __launch_bounds__(cubinet_verification::kThreads)
    verification_fill_random_e4m3(unsigned char* out, long long count, unsigned long long seed) {
  using namespace cubinet_verification;
  for (i64 i = global_thread(); i < count / 16; i += thread_count()) {
    const u64 index = static_cast<u64>(i) * 16;
    reinterpret_cast<uint4*>(out)[i] = make_uint4(random_four(seed, index), random_four(seed, index + 4),
                                                  random_four(seed, index + 8), random_four(seed, index + 12));
  }
}

// Sets scale (r, c) of group g to element (g * rows + r) * blocks + c of the stream `seed`, whatever the memory order
// of `scales` is. Rows with valid[g * rows + r] == 0 and rows that only align get garbage. If `valid` is null, every
// row is valid.
extern "C" __global__ void __launch_bounds__(cubinet_verification::kThreads)
    verification_fill_scales(cubinet_verification::ScaleView scales, long long groups, long long blocks,
                             const unsigned char* valid, unsigned long long seed,
                             cubinet_verification::Garbage garbage) {
  using namespace cubinet_verification;
  for (i64 i = global_thread(); i < groups * scales.stored_rows * blocks; i += thread_count()) {
    const i64 block = i % blocks;
    const i64 row = i / blocks % scales.stored_rows;
    const i64 group = i / blocks / scales.stored_rows;
    const i64 flat_row = group * scales.rows + row;
    const bool used = row < scales.rows && (valid == nullptr || valid[flat_row] != 0);
    line(scales, group, row)[block * scales.block_stride] =
        used ? random_scale(seed, static_cast<u64>(flat_row * blocks + block)) : garbage_scale(garbage, row + block);
  }
}

// Fills every row of `a` (rows, pairs of bytes) whose byte in `valid` is zero with garbage.
extern "C" __global__ void __launch_bounds__(cubinet_verification::kThreads)
    verification_spoil_rows(unsigned short* a, const unsigned char* valid, long long rows, long long pairs,
                            cubinet_verification::Garbage garbage) {
  using namespace cubinet_verification;
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    if (valid[row]) continue;
    for (i64 i = threadIdx.x; i < pairs; i += blockDim.x) a[row * pairs + i] = garbage_pair(garbage, row + i);
  }
}

// Compares D (any rows, n) with A * B^T in the rows that the tiles list, in all n columns, and adds the result to
// sums[group]. A (any rows, k) and B (groups, n, k) are bf16; k is a multiple of 32. Grid: (tiles, ceil(n / 128)).
extern "C" __global__ void __launch_bounds__(cubinet_verification::kThreads)
    verification_check_product(const unsigned short* a, const unsigned short* b, const unsigned short* d,
                               const int* rows, const cubinet_verification::RowTile* tiles, long long n, long long k,
                               float slack, cubinet_verification::GroupSums* sums) {
  using namespace cubinet_verification;
  check(Bf16Product{a, b, n, k, slack}, d, rows, tiles, sums);
}

// As verification_check_product, for e4m3 operands, each element times its scale. k is a multiple of 128. `slack` is
// the error allowed in the sum over a block of 128 of K before scaling.
extern "C" __global__ void __launch_bounds__(cubinet_verification::kThreads)
    verification_check_fp8_product(const unsigned char* a, const unsigned char* b,
                                   cubinet_verification::ScaleView a_scales, cubinet_verification::ScaleView b_scales,
                                   const unsigned short* d, const int* rows, const cubinet_verification::RowTile* tiles,
                                   long long n, long long k, float slack, cubinet_verification::GroupSums* sums) {
  using namespace cubinet_verification;
  check(Fp8Product{a, b, a_scales, b_scales, n, k, slack}, d, rows, tiles, sums);
}

// Counts stray writes and unwritten elements in d (rows, n), which was filled with `poison` before the launch under
// test: elements of rows with valid[row] == 0 that changed, and elements of other rows that did not. If `valid` is
// null, no row is valid. n is a multiple of 8.
extern "C" __global__ void __launch_bounds__(cubinet_verification::kThreads)
    verification_count_writes(const unsigned short* d, const unsigned char* valid, long long rows, long long n,
                              unsigned int poison, cubinet_verification::WriteCounts* counts) {
  using namespace cubinet_verification;
  u64 stray = 0;
  u64 unwritten = 0;
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const bool expected = valid != nullptr && valid[row] != 0;
    for (i64 i = threadIdx.x; i < n / 8; i += blockDim.x) {
      const uint4 eight = load_eight(d, row, n, 8 * i);
      const u32 words[4] = {eight.x, eight.y, eight.z, eight.w};
      u32 kept = 0;
#pragma unroll
      for (int w = 0; w < 4; ++w) kept += ((words[w] & 0xffffu) == poison) + ((words[w] >> 16) == poison);
      if (expected) unwritten += kept;
      if (!expected) stray += 8 - kept;
    }
  }
  if (stray) atomicAdd(&counts->stray, stray);
  if (unwritten) atomicAdd(&counts->unwritten, unwritten);
}

// Counts the elements of the valid rows of two outputs (rows, n) that differ in any bit. n is a multiple of 8.
extern "C" __global__ void __launch_bounds__(cubinet_verification::kThreads)
    verification_count_differences(const unsigned short* one, const unsigned short* other, const unsigned char* valid,
                                   long long rows, long long n, unsigned long long* count) {
  using namespace cubinet_verification;
  u64 differing = 0;
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    if (valid[row] == 0) continue;
    for (i64 i = threadIdx.x; i < n / 8; i += blockDim.x) {
      const uint4 x = load_eight(one, row, n, 8 * i);
      const uint4 y = load_eight(other, row, n, 8 * i);
      const u32 words[4] = {x.x ^ y.x, x.y ^ y.y, x.z ^ y.z, x.w ^ y.w};
#pragma unroll
      for (int w = 0; w < 4; ++w) differing += ((words[w] & 0xffffu) != 0) + ((words[w] >> 16) != 0);
    }
  }
  if (differing) atomicAdd(count, differing);
}

// Does nothing. Used to measure the time of a launch.
extern "C" __global__ void verification_empty() {}

namespace cubinet_verification {
template <class A, class B>
constexpr bool is_same = false;
template <class A>
constexpr bool is_same<A, A> = true;

static_assert(is_same<decltype(verification_fill_random), FillRandom> &&
                  is_same<decltype(verification_fill_random_e4m3), FillRandomE4m3> &&
                  is_same<decltype(verification_fill_scales), FillScales> &&
                  is_same<decltype(verification_spoil_rows), SpoilRows> &&
                  is_same<decltype(verification_check_product), CheckProduct> &&
                  is_same<decltype(verification_check_fp8_product), CheckFp8Product> &&
                  is_same<decltype(verification_count_writes), CountWrites> &&
                  is_same<decltype(verification_count_differences), CountDifferences> &&
                  is_same<decltype(verification_empty), Empty>,
              "the host passes these parameters");
}  // namespace cubinet_verification
