// What the host and the kernels of verification.cuh agree on: results, records, threads and parameters. NVRTC and the
// host compiler both compile this header. It is plain C++17 and includes nothing.
#pragma once

namespace cubinet_verification {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

constexpr int kThreads = 256;      // of a CTA, in every kernel
constexpr int kTileRows = 64;      // of D, in a CTA's tile of the comparison
constexpr int kTileColumns = 128;  // likewise
constexpr i64 kScaleBlock = 128;   // columns of K, and for weights rows of N, that share a scale

// Sums over the compared elements of one group. x is what the kernel under test wrote, y the reference.
struct GroupSums {
  double xx = 0;               // <x,x>
  double yy = 0;               // <y,y>
  double xy = 0;               // <x,y>
  u64 nans = 0;                // elements of x that are NaN; they are left out of all other sums
  u64 outliers = 0;            // elements that differ from the reference by more than is allowed
  u64 compared = 0;            // elements compared, NaNs included
  u32 largest_error_bits = 0;  // max |x - y|, as the bits of a non-negative float
  u32 largest_share_bits = 0;  // max of |x - y| over what is allowed of it, likewise
};
static_assert(sizeof(GroupSums) == 56, "the host reads these sums back as bytes");

// Rows of one group that a CTA compares: `count` entries of the row list from `first` on, at most kTileRows.
struct RowTile {
  int group = 0;
  int first = 0;
  int count = 0;
  int unused = 0;
};

// The result of a search for stray writes in a buffer that was filled with a poison value.
struct WriteCounts {
  u64 stray = 0;      // elements outside the valid rows that no longer hold the poison
  u64 unwritten = 0;  // elements of valid rows that still hold it
};

// A tensor of scales in any memory order. Strides count elements.
struct ScaleView {
  float* data = nullptr;  // device memory
  i64 rows = 0;           // of a group
  i64 stored_rows = 0;    // rows of a group in memory: with those that only align
  i64 group_stride = 0;
  i64 row_stride = 0;
  i64 block_stride = 0;
};
static_assert(sizeof(ScaleView) == 48, "passed by value");

// What padding is filled with.
enum class Garbage : int {
  harsh,  // NaN, infinity and huge numbers in turn, as elements and as scales
  zeros,
};

// The kernels' parameters; the kernels say what they mean.
using FillRandom = void(u16* out, i64 count, u64 seed, u64 first);
using FillRandomE4m3 = void(u8* out, i64 count, u64 seed);
using FillScales = void(ScaleView scales, i64 groups, i64 blocks, const u8* valid, u64 seed, Garbage garbage);
using SpoilRows = void(u16* a, const u8* valid, i64 rows, i64 pairs, Garbage garbage);
using CheckProduct = void(const u16* a, const u16* b, const u16* d, const int* rows, const RowTile* tiles, i64 n, i64 k,
                          float slack, GroupSums* sums);
using CheckFp8Product = void(const u8* a, const u8* b, ScaleView a_scales, ScaleView b_scales, const u16* d,
                             const int* rows, const RowTile* tiles, i64 n, i64 k, float slack, GroupSums* sums);
using CountWrites = void(const u16* d, const u8* valid, i64 rows, i64 n, u32 poison, WriteCounts* counts);
using CountDifferences = void(const u16* one, const u16* other, const u8* valid, i64 rows, i64 n, u64* count);
using Empty = void();

}  // namespace cubinet_verification
