// The kernels of templates/verification.cuh on one device, as functions.
#pragma once

#include <cstdint>
#include <memory>

#include "cache/cabinet.hpp"
#include "cubinet/problem.hpp"
#include "jit/compiler.hpp"
#include "jit/driver.hpp"
#include "jit/families/registry.hpp"
#include "jit/loader.hpp"
#include "templates/shared/verification.cuh"
#include "util/expected.hpp"

namespace cubinet::warmup {

using cubinet_verification::Garbage;
using cubinet_verification::GroupSums;
using cubinet_verification::ScaleView;
using cubinet_verification::WriteCounts;

// 1 - 2<x,y> / (<x,x> + <y,y>); 0 when both are zero.
double difference(const GroupSums& sums);
float largest_error(const GroupSums& sums);
float largest_share(const GroupSums& sums);

// Loads the kernels and launches them, asynchronously on `stream`. Addresses are device memory. Owns its module and is
// movable. The device's context must be current on every thread that uses it.
class VerificationKernels {
 public:
  // Finds the kernels in the cabinet, which may be null, or compiles them, and loads them.
  static Expected<VerificationKernels> open(std::shared_ptr<const jit::DeviceContext> device, jit::Compiler& compiler,
                                            cache::Cabinet* cabinet, const jit::Registry& families = jit::families());

  // Writes elements 0 to count - 1 of the random stream `seed` to `out`. bf16 numbers have mean 0 and sigma 1. fp8
  // numbers have sigma 128, none is NaN, and `count` must be a multiple of 16.
  Expected<void> fill_random(CUdeviceptr out, DataType type, std::int64_t count, std::uint64_t seed,
                             CUstream stream) const;

  // Fills scales (groups, rows, blocks) with numbers from 2^-8 to 4 of the stream `seed`. They do not depend on the
  // memory order. Rows that only align, and rows whose byte valid[group * rows + row] is 0, get garbage; `valid` 0
  // means that every row is valid.
  Expected<void> fill_scales(const ScaleView& scales, std::int64_t groups, std::int64_t blocks, CUdeviceptr valid,
                             std::uint64_t seed, Garbage garbage, CUstream stream) const;

  // Fills each row whose byte in `valid` is 0 with garbage. A row has `row_bytes` bytes, an even number.
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
  // Compares D with A * B^T and adds the result to sums[group]. A and B must hold numbers from fill_random: the error
  // that is allowed for the order of summation is computed for their distribution.
  Expected<void> check_product(const Product& product, CUdeviceptr sums, CUstream stream) const;

  // Adds to *counts the stray writes and the unwritten elements of d (rows, n), which was filled with `poison` before.
  // `valid` 0 means that no row is valid.
  Expected<void> count_writes(CUdeviceptr d, CUdeviceptr valid, std::int64_t rows, std::int64_t n, std::uint16_t poison,
                              CUdeviceptr counts, CUstream stream) const;

  // Adds to *count (64 bits) how many elements of valid rows of two outputs (rows, n) differ in any bit.
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
