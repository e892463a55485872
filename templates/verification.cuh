// Kernels that judge the other kernels: operands made of seeded random numbers, an FP32 reference product that is
// compared on the spot with what a kernel wrote, and a search for writes where nothing may be written.
//
// Family "verification". All entry points take run-time sizes; the specialization's constants are not used. The
// reference shares no code with the templates that it judges and uses no tensor core, no TMA and no barrier beyond
// __syncthreads, so that a misunderstanding of those cannot hide in both.
#pragma once

namespace cubinet_verification {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

// What a comparison adds up for one group; the host's mirror is warmup::GroupSums.
struct GroupSums {
  double xx;               // <x,x>, x what the kernel wrote
  double yy;               // <y,y>, y the reference
  double xy;               // <x,y>
  u64 nans;                // elements of x that are NaN
  u64 outliers;            // elements further from the reference than rounding explains
  u64 compared;            // elements looked at
  u32 largest_error_bits;  // max |x - y|, as the bits of a non-negative float
  u32 unused;
};
static_assert(sizeof(GroupSums) == 56, "the host reads these sums back as bytes");

// What a search for stray writes counts; the host's mirror is warmup::WriteCounts.
struct WriteCounts {
  u64 stray;      // elements outside the valid rows that no longer hold the poison
  u64 unwritten;  // elements of valid rows that still hold it
};

// Rows of one group that a block compares: `count` entries of the row list from `first` on.
struct RowTile {
  int group;
  int first;
  int count;
  int unused;
};

constexpr int kTileRows = 64;      // of a block's tile of D
constexpr int kTileColumns = 128;  // likewise
constexpr int kTileDepth = 32;     // K elements per step; K is a multiple of 64
constexpr int kThreads = 256;      // 16 x 16 threads, each 4 rows by 8 columns
// Row strides of the staged operands: 8 banks more than a multiple of 32, so that the four threads that unpack one
// row's 32 elements store without a bank conflict (see unpack).
constexpr int kRowStride = kTileRows + 8;
constexpr int kColumnStride = kTileColumns + 8;

__device__ __forceinline__ float to_float(u32 bf16) { return __uint_as_float(bf16 << 16); }

__device__ __forceinline__ bool is_nan(float value) { return !(value == value); }

// Rounds to nearest even, as the kernels under test do. `value` is finite here.
__device__ __forceinline__ u32 to_bf16(float value) {
  const u32 bits = __float_as_uint(value);
  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

// A hash of the counter (the finalizer of SplitMix64): any element can be made again on its own.
__device__ __forceinline__ u64 mix(u64 x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Element `index` of the stream `seed`: the sum of four uniform 16-bit numbers, shifted to mean 0 and scaled to
// sigma 1 (37837.2 = 2 * 65536 / sqrt(12)). Integer arithmetic up to one multiplication, so a host gets the same bits.
__device__ __forceinline__ u32 random_bf16(u64 seed, u64 index) {
  const u64 h = mix(mix(seed) + index);
  const int sum = static_cast<int>(h & 0xffff) + static_cast<int>((h >> 16) & 0xffff) +
                  static_cast<int>((h >> 32) & 0xffff) + static_cast<int>(h >> 48);
  return to_bf16(static_cast<float>(sum - 131070) * (1.0f / 37837.2f));
}

__device__ __forceinline__ u32 random_pair(u64 seed, u64 index) {
  return random_bf16(seed, index) | (random_bf16(seed, index + 1) << 16);
}

__device__ __forceinline__ i64 global_thread() { return static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; }

__device__ __forceinline__ i64 thread_count() { return static_cast<i64>(gridDim.x) * blockDim.x; }

// Eight neighbours in one row: 16 bytes, aligned since row lengths are multiples of 8.
__device__ __forceinline__ uint4 load_eight(const u16* base, i64 row, i64 k, int column) {
  return *reinterpret_cast<const uint4*>(base + row * k + column);
}

// Stores eight K-neighbours of one row or column at [k][line]. The order of K is permuted (element j of the eight of
// quarter q goes to place 4 j + q), alike for both operands, so the sum is over the same products.
__device__ __forceinline__ void unpack(float* staged, int stride, int line, int quarter, uint4 eight) {
  const u32 words[4] = {eight.x, eight.y, eight.z, eight.w};
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    staged[(8 * w + quarter) * stride + line] = to_float(words[w] & 0xffffu);
    staged[(8 * w + 4 + quarter) * stride + line] = to_float(words[w] >> 16);
  }
}

// acc += rows x columns over the staged K elements.
__device__ __forceinline__ void multiply(float (&acc)[4][8], const float* rows, const float* columns, int ty, int tx) {
#pragma unroll 8
  for (int k = 0; k < kTileDepth; ++k) {
    const float4 a = *reinterpret_cast<const float4*>(rows + k * kRowStride + 4 * ty);
    const float4 b0 = *reinterpret_cast<const float4*>(columns + k * kColumnStride + 4 * tx);
    const float4 b1 = *reinterpret_cast<const float4*>(columns + k * kColumnStride + 64 + 4 * tx);
    const float av[4] = {a.x, a.y, a.z, a.w};
    const float bv[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 8; ++j) acc[i][j] = fmaf(av[i], bv[j], acc[i][j]);
    }
  }
}

// A thread's part of a comparison.
struct Sums {
  double xx = 0;
  double yy = 0;
  double xy = 0;
  u32 nans = 0;
  u32 outliers = 0;
  u32 compared = 0;
  float largest_error = 0;

  // `slack`: what is allowed besides half a unit of bf16 in the last place, for sums taken in another order. A NaN
  // counts as such and stays out of the sums, which therefore keep telling of the other elements.
  __device__ __forceinline__ void add(float x, float y, float slack) {
    ++compared;
    if (is_nan(x)) {
      ++nans;
      return;
    }
    const double dx = x;
    const double dy = y;
    xx += dx * dx;
    yy += dy * dy;
    xy += dx * dy;
    const float error = fabsf(x - y);
    if (error > fabsf(y) * (1.0f / 256.0f) + slack) ++outliers;
    largest_error = fmaxf(largest_error, error);
  }
};

// Adds `value` of all threads of the block to *total. `scratch` holds kThreads doubles and may be reused at once.
__device__ __forceinline__ void add_over_block(double value, double* scratch, double* total) {
  scratch[threadIdx.x] = value;
  __syncthreads();
  for (int width = kThreads / 2; width > 0; width /= 2) {
    if (threadIdx.x < width) scratch[threadIdx.x] += scratch[threadIdx.x + width];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(total, scratch[0]);
  __syncthreads();
}

// Compares this thread's elements with those of D.
__device__ __forceinline__ Sums compare(const float (&acc)[4][8], const u16* d, const int* rows, const RowTile& tile,
                                        i64 n, float slack, int ty, int tx) {
  Sums sums;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int entry = 4 * ty + i;
    if (entry >= tile.count) continue;
    const u16* line = d + static_cast<i64>(rows[tile.first + entry]) * n;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const i64 column = static_cast<i64>(blockIdx.y) * kTileColumns + (j / 4) * 64 + 4 * tx + j % 4;
      if (column < n) sums.add(to_float(line[column]), acc[i][j], slack);
    }
  }
  return sums;
}

// The reference product of one tile of rows with one tile of columns. Rows beyond the tile's count and columns beyond
// N repeat the last one: their products are dropped later.
__device__ __forceinline__ void reference_tile(float (&acc)[4][8], const u16* a, const u16* b, const int* rows,
                                               const RowTile& tile, i64 n, i64 k, float* staged_rows,
                                               float* staged_columns, int ty, int tx) {
  const int line = static_cast<int>(threadIdx.x) / 4;
  const int quarter = static_cast<int>(threadIdx.x) % 4;
  const i64 row = rows[tile.first + (line < tile.count ? line : tile.count - 1)];
  const i64 first_column = static_cast<i64>(blockIdx.y) * kTileColumns + line;
  const i64 base = static_cast<i64>(tile.group) * n;
  const i64 column0 = base + (first_column < n ? first_column : n - 1);
  const i64 column1 = base + (first_column + 64 < n ? first_column + 64 : n - 1);
  uint4 next_a = load_eight(a, row, k, 8 * quarter);
  uint4 next_b0 = load_eight(b, column0, k, 8 * quarter);
  uint4 next_b1 = load_eight(b, column1, k, 8 * quarter);
  for (int at = 0; at < k; at += kTileDepth) {
    __syncthreads();
    unpack(staged_rows, kRowStride, line, quarter, next_a);
    unpack(staged_columns, kColumnStride, line, quarter, next_b0);
    unpack(staged_columns, kColumnStride, line + 64, quarter, next_b1);
    __syncthreads();
    const int ahead = at + kTileDepth;
    if (ahead < k) {
      next_a = load_eight(a, row, k, ahead + 8 * quarter);
      next_b0 = load_eight(b, column0, k, ahead + 8 * quarter);
      next_b1 = load_eight(b, column1, k, ahead + 8 * quarter);
    }
    multiply(acc, staged_rows, staged_columns, ty, tx);
  }
  __syncthreads();
}

}  // namespace cubinet_verification

// out[i] = element `first + i` of the random stream `seed`, for i < count. `out` is 16-byte aligned.
extern "C" __global__ void __launch_bounds__(256)
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

// Spoils every row of a (rows, k) whose byte in `valid` is zero: NaN, infinity and the largest finite number by turns.
extern "C" __global__ void __launch_bounds__(256)
    verification_spoil_rows(unsigned short* a, const unsigned char* valid, long long rows, long long k) {
  using namespace cubinet_verification;
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    if (valid[row]) continue;
    for (i64 i = threadIdx.x; i < k; i += blockDim.x) {
      const i64 turn = (row + i) % 3;
      a[row * k + i] = static_cast<u16>(turn == 0 ? 0x7fffu : turn == 1 ? 0xff80u : 0x7f7fu);
    }
  }
}

// Compares D (any rows, n) with A * B^T for the rows that the tiles list, over all n columns, and adds to sums[group].
// A (any rows, k) and B (groups, n, k) are bf16; k is a multiple of 32. Grid: (tiles, ceil(n / 128)); 256 threads.
extern "C" __global__ void __launch_bounds__(cubinet_verification::kThreads)
    verification_check_product(const unsigned short* a, const unsigned short* b, const unsigned short* d,
                               const int* rows, const cubinet_verification::RowTile* tiles, long long n, long long k,
                               float slack, cubinet_verification::GroupSums* sums) {
  using namespace cubinet_verification;
  __shared__ __align__(16) float staged_rows[kTileDepth * kRowStride];
  __shared__ __align__(16) float staged_columns[kTileDepth * kColumnStride];
  __shared__ double scratch[kThreads];
  const RowTile tile = tiles[blockIdx.x];
  const int ty = static_cast<int>(threadIdx.x) / 16;
  const int tx = static_cast<int>(threadIdx.x) % 16;
  float acc[4][8] = {};
  reference_tile(acc, a, b, rows, tile, n, k, staged_rows, staged_columns, ty, tx);
  const Sums mine = compare(acc, d, rows, tile, n, slack, ty, tx);
  GroupSums* total = sums + tile.group;
  add_over_block(mine.xx, scratch, &total->xx);
  add_over_block(mine.yy, scratch, &total->yy);
  add_over_block(mine.xy, scratch, &total->xy);
  if (mine.nans) atomicAdd(&total->nans, static_cast<u64>(mine.nans));
  if (mine.outliers) atomicAdd(&total->outliers, static_cast<u64>(mine.outliers));
  if (mine.compared) atomicAdd(&total->compared, static_cast<u64>(mine.compared));
  // The bits of non-negative floats order as the floats do.
  if (mine.compared) atomicMax(&total->largest_error_bits, __float_as_uint(mine.largest_error));
}

// Counts in d (rows, n), which was filled with `poison` before the launch under test, the elements of rows with
// valid[row] == 0 that changed, and those of the other rows that did not. `valid` may be null: no row is valid.
// n is a multiple of 8.
extern "C" __global__ void __launch_bounds__(256)
    verification_count_writes(const unsigned short* d, const unsigned char* valid, long long rows, long long n,
                              unsigned int poison, cubinet_verification::WriteCounts* counts) {
  using namespace cubinet_verification;
  u64 stray = 0;
  u64 unwritten = 0;
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const bool expected = valid != nullptr && valid[row] != 0;
    for (i64 i = threadIdx.x; i < n / 8; i += blockDim.x) {
      const uint4 eight = load_eight(d, row, n, static_cast<int>(8 * i));
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

// Does nothing: what is timed of it is the launch.
extern "C" __global__ void verification_empty() {}
