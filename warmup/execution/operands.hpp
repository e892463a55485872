// The operands of a problem, wherever in device memory they lie: how they are filled, and how launches and the
// reference see them.
#pragma once

#include <cstdint>

#include "cubinet/scales.hpp"
#include "jit/driver.hpp"
#include "util/expected.hpp"
#include "warmup/execution/row_plan.hpp"
#include "warmup/execution/verification_kernels.hpp"

namespace cubinet::warmup {

// How the scales of activations lie; see cubinet/scales.hpp.
enum class ScaleOrder { column_major, row_major };

// What fills device memory.
struct Filler {
  const jit::Driver& driver;
  const VerificationKernels& kernels;
  CUstream stream;
};

// A, B and, for fp8, their scales; those of A in either order. 0 where there are none.
struct OperandPlaces {
  CUdeviceptr a = 0;
  CUdeviceptr b = 0;
  CUdeviceptr a_columns = 0;  // scales of A, column-major
  CUdeviceptr a_rows = 0;     // and row-major
  CUdeviceptr b_scales = 0;
};

// Random numbers in all of A and B, of the streams `seed` and `seed + 1`.
Expected<void> fill_operands(const Filler& filler, const RowPlan& plan, const OperandPlaces& places,
                             std::uint64_t seed);

// Garbage in the rows of A that are not valid.
Expected<void> spoil_operands(const Filler& filler, const RowPlan& plan, const OperandPlaces& places, CUdeviceptr valid,
                              Garbage garbage);

// Random scales of A of the stream `seed`, the same in either order; garbage for rows that are not valid, and in those
// that only align. The plan's type is fp8.
Expected<void> fill_row_scales(const Filler& filler, const RowPlan& plan, const OperandPlaces& places, ScaleOrder order,
                               CUdeviceptr valid, std::uint64_t seed, Garbage garbage);

// Random scales of B of the stream `seed`. The plan's type is fp8.
Expected<void> fill_weight_scales(const Filler& filler, const RowPlan& plan, const OperandPlaces& places,
                                  std::uint64_t seed);

// As a launch takes them; none for bf16.
ScaleTensor row_scale_tensor(const RowPlan& plan, const OperandPlaces& places, ScaleOrder order);
ScaleTensor weight_scale_tensor(const RowPlan& plan, const OperandPlaces& places);

// As the reference takes them; none for bf16.
ScaleView row_scale_view(const RowPlan& plan, const OperandPlaces& places, ScaleOrder order);
ScaleView weight_scale_view(const RowPlan& plan, const OperandPlaces& places);

// The scales of A are (groups, rows, blocks of K), with one group in the contiguous layout.
std::int64_t scale_groups(const RowPlan& plan);
std::int64_t scale_rows(const RowPlan& plan);

}  // namespace cubinet::warmup
