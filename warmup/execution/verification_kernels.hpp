// The kernels of templates/verification.cuh on one device, as functions.
#pragma once

#include <cstdint>
#include <memory>

#include "cache/cabinet.hpp"
#include "cubinet/problem.hpp"
#include "jit/compiler.hpp"
#include "jit/driver.hpp"
#include "jit/loader.hpp"
#include "util/expected.hpp"

namespace cubinet::warmup {

// What a comparison adds up for one group. Mirrors cubinet_verification::GroupSums.
struct GroupSums {
  double xx = 0;                         // <x,x>, x what the kernel wrote
  double yy = 0;                         // <y,y>, y the reference
  double xy = 0;                         // <x,y>
  std::uint64_t nans = 0;                // elements of x that are NaN
  std::uint64_t outliers = 0;            // elements further from the reference than rounding explains
  std::uint64_t compared = 0;            // elements looked at
  std::uint32_t largest_error_bits = 0;  // max |x - y|, as the bits of a non-negative float
  std::uint32_t largest_share_bits = 0;  // max of |x - y| over what is allowed of it, likewise

  // 1 - 2<x,y> / (<x,x> + <y,y>); 0 when both are zero.
  [[nodiscard]] double difference() const;
  [[nodiscard]] float largest_error() const;
  [[nodiscard]] float largest_share() const;
};
static_assert(sizeof(GroupSums) == 56);

// Mirrors cubinet_verification::WriteCounts.
struct WriteCounts {
  std::uint64_t stray = 0;      // elements outside the valid rows that no longer hold the poison
  std::uint64_t unwritten = 0;  // elements of valid rows that still hold it
};

// A tensor of scales in any order. Strides count elements. Mirrors cubinet_verification::ScaleView.
struct ScaleView {
  CUdeviceptr data = 0;
  std::int64_t rows = 0;         // of a group
  std::int64_t stored_rows = 0;  // with those that only align
  std::int64_t group_stride = 0;
  std::int64_t row_stride = 0;
  std::int64_t block_stride = 0;
};
static_assert(sizeof(ScaleView) == 48);

// What is put where no kernel may look. Mirrors cubinet_verification::Garbage.
//   harsh  NaN, infinity and huge numbers by turns, as elements and as scales
//   zeros
enum class Garbage : std::int32_t { harsh, zeros };

// Launches are asynchronous on `stream`; addresses are device memory. Owning and movable; the device's context is
// current on every thread that uses it.
class VerificationKernels {
 public:
  // Found in the cabinet (which may be null) or compiled, then loaded.
  static Expected<VerificationKernels> open(std::shared_ptr<const jit::DeviceContext> device, jit::Compiler& compiler,
                                            cache::Cabinet* cabinet);

  // `count` random numbers at `out`: the elements from 0 on of the stream `seed`. bf16 ones have mean 0 and sigma 1;
  // fp8 ones, whose count is a multiple of 16, sigma 128, and none is NaN.
  Expected<void> fill_random(CUdeviceptr out, DataType type, std::int64_t count, std::uint64_t seed,
                             CUstream stream) const;

  // Scales (groups, rows, blocks), those between 2^-8 and 4 of the stream `seed`: the same in whatever order they lie.
  // Garbage in the rows that only align, and where valid[group * rows + row] is 0; `valid` may be 0: every row is.
  Expected<void> fill_scales(const ScaleView& scales, std::int64_t groups, std::int64_t blocks, CUdeviceptr valid,
                             std::uint64_t seed, Garbage garbage, CUstream stream) const;

  // Garbage in the rows, `row_bytes` each, whose byte in `valid` is 0. row_bytes is even.
  Expected<void> spoil_rows(CUdeviceptr a, CUdeviceptr valid, std::int64_t rows, std::int64_t row_bytes,
                            Garbage garbage, CUstream stream) const;

  struct Product {
    DataType type = DataType::bf16;
    CUdeviceptr a = 0, b = 0, d = 0;
    ScaleView a_scales{}, b_scales{};  // fp8 only
    CUdeviceptr rows = 0;              // int32 row list
    CUdeviceptr tiles = 0;             // RowTile (row_plan.hpp)
    std::int64_t tile_count = 0;
    std::int64_t n = 0, k = 0;
  };
  // Adds the comparison of D with A * B^T to sums[group]. A and B hold numbers as fill_random makes them: the slack for
  // the way of summation rests on that.
  Expected<void> check_product(const Product& product, CUdeviceptr sums, CUstream stream) const;

  // Adds to *counts what became of d (rows, n), filled with `poison` before. `valid` may be 0: no row is valid.
  Expected<void> count_writes(CUdeviceptr d, CUdeviceptr valid, std::int64_t rows, std::int64_t n, std::uint16_t poison,
                              CUdeviceptr counts, CUstream stream) const;

  // Adds to *count (64 bits) the elements of valid rows of two outputs (rows, n) that differ in any bit.
  Expected<void> count_differences(CUdeviceptr one, CUdeviceptr other, CUdeviceptr valid, std::int64_t rows,
                                   std::int64_t n, CUdeviceptr count, CUstream stream) const;

  // A kernel that does nothing.
  Expected<void> empty(int blocks, CUstream stream) const;

 private:
  VerificationKernels(std::shared_ptr<const jit::DeviceContext> device, jit::LoadedModule module) noexcept;
  Expected<void> find_functions();
  Expected<void> launch(CUfunction function, std::int64_t blocks_x, std::int64_t blocks_y, void** parameters,
                        CUstream stream) const;

  std::shared_ptr<const jit::DeviceContext> device_;
  jit::LoadedModule module_;
  CUfunction fill_random_ = nullptr;
  CUfunction fill_random_e4m3_ = nullptr;
  CUfunction fill_scales_ = nullptr;
  CUfunction spoil_rows_ = nullptr;
  CUfunction check_product_ = nullptr;
  CUfunction check_fp8_product_ = nullptr;
  CUfunction count_writes_ = nullptr;
  CUfunction count_differences_ = nullptr;
  CUfunction empty_ = nullptr;
};

}  // namespace cubinet::warmup
