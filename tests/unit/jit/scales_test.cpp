#include "jit/scales.hpp"

#include <string>

#include "catch.hpp"

using namespace cubinet;

namespace {

constexpr Problem kScaledContiguous{DataType::fp8, Layout::contiguous, 576, 512, 3};
constexpr Problem kScaledMasked{DataType::fp8, Layout::masked, 576, 512, 3};

const float* scales_at(std::uintptr_t number = 0x10000) { return reinterpret_cast<const float*>(number); }

jit::ScaleLayout layout_of(const ScaleTensor& scales, std::int64_t rows, std::int64_t k, std::int64_t groups) {
  const auto layout = jit::check_row_scales("scales", scales, rows, k, groups);
  INFO((layout ? std::string() : layout.error().message));
  REQUIRE(layout);
  return *layout;
}

template <class T>
std::string refusal(const Expected<T>& outcome, ErrorCode code = ErrorCode::invalid_argument) {
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().code == code);
  return outcome.error().message;
}

std::string activation_refusal(const ScaleTensor& scales, const Problem& problem = kScaledContiguous) {
  return refusal(jit::check_activation_scales(scales, problem, 5));
}

std::string weight_refusal(const ScaleTensor& scales) {
  return refusal(jit::check_weight_scales(scales, kScaledMasked));
}

constexpr auto kColumnMajor = jit::ScaleLayout::column_major;
constexpr auto kRowMajor = jit::ScaleLayout::row_major;

}  // namespace

TEST_CASE("The layout of activation scales is recognized for every number of rows and groups") {
  for (const std::int64_t groups : {0, 1, 2, 256}) {
    for (const std::int64_t rows : {1, 2, 3, 4, 5, 8, 127, 4096}) {
      for (const std::int64_t k : {256, 384, 7168}) {
        INFO("groups " << groups << ", rows " << rows << ", K " << k);
        CHECK(layout_of(column_major_scales(scales_at(), rows, k, groups), rows, k, groups) == kColumnMajor);
        CHECK(layout_of(row_major_scales(scales_at(), rows, k, groups), rows, k, groups) == kRowMajor);
      }
    }
  }
}

TEST_CASE("With a single block of K row-major scales are transposed only if padding may be missing") {
  for (const std::int64_t groups : {0, 1, 3}) {
    for (const std::int64_t rows : {1, 2, 3, 4, 5, 8, 126, 128}) {
      INFO("groups " << groups << ", rows " << rows);
      const jit::ScaleLayout found = layout_of(row_major_scales(scales_at(), rows, 128, groups), rows, 128, groups);
      CHECK(found == (rows % 4 == 0 ? kColumnMajor : kRowMajor));
      CHECK(layout_of(column_major_scales(scales_at(), rows, 128, groups), rows, 128, groups) == kColumnMajor);
    }
  }
}

TEST_CASE("Scales that fit both layouts but are not aligned for the kernels count as row-major") {
  CHECK(layout_of(row_major_scales(scales_at(0x10004), 8, 128), 8, 128, 0) == kRowMajor);
  CHECK(layout_of(column_major_scales(scales_at(0x10004), 8, 128), 8, 128, 0) == kRowMajor);
}

TEST_CASE("A single column counts as padded for the kernels only if its stride says so") {
  for (const std::int64_t stride : {1, 2, 5, 7, 12, 0, -8}) {
    INFO(stride);
    ScaleTensor scales = column_major_scales(scales_at(), 5, 128);
    scales.strides[1] = stride;
    CHECK(layout_of(scales, 5, 128, 0) == kRowMajor);
    scales = column_major_scales(scales_at(), 5, 128, 1);
    scales.strides[2] = stride;
    CHECK(layout_of(scales, 5, 128, 1) == kRowMajor);
  }
}

TEST_CASE("The stride of a dimension of size 1 is ignored") {
  ScaleTensor scales = column_major_scales(scales_at(), 5, 512, 1);
  scales.strides[0] = -77;
  CHECK(layout_of(scales, 5, 512, 1) == kColumnMajor);
  scales = row_major_scales(scales_at(), 1, 512);
  scales.strides[0] = 12345;
  CHECK(layout_of(scales, 1, 512, 0) == kRowMajor);
  scales = weight_scales(scales_at(), 1, 128, 128);
  scales.strides = {7, 8, 9};
  CHECK(jit::check_weight_scales(scales, {DataType::fp8, Layout::masked, 128, 128, 1}));
}

TEST_CASE("Scales are checked against groups and capacity if masked, and against the rows if contiguous") {
  CHECK(jit::check_activation_scales(column_major_scales(scales_at(), 5, 512), kScaledContiguous, 5) == kColumnMajor);
  CHECK(jit::check_activation_scales(row_major_scales(scales_at(), 5, 512, 3), kScaledMasked, 5) == kRowMajor);
  CHECK(activation_refusal(column_major_scales(scales_at(), 5, 512), kScaledMasked) ==
        "a_scales has rank 2: expected FP32 scales (groups, rows, K / 128) = (3, 5, 4)");
  CHECK(activation_refusal(column_major_scales(scales_at(), 5, 512, 3)) ==
        "a_scales has rank 3: expected FP32 scales (rows, K / 128) = (5, 4)");
}

TEST_CASE("Scales that are missing or null are refused with what was expected") {
  CHECK(activation_refusal({}) == "a_scales is missing: expected FP32 scales (rows, K / 128) = (5, 4)");
  CHECK(activation_refusal(column_major_scales(nullptr, 5, 512)) == "a_scales is null");
  CHECK(weight_refusal({}) == "b_scales is missing: expected FP32 scales (groups, ceil(N / 128), K / 128) = (3, 5, 4)");
  CHECK(weight_refusal(weight_scales(nullptr, 3, 576, 512)) == "b_scales is null");
}

TEST_CASE("Scales of the wrong shape are refused with both shapes") {
  CHECK(activation_refusal(column_major_scales(scales_at(), 6, 512)) ==
        "a_scales has shape (6, 4): expected FP32 scales (rows, K / 128) = (5, 4)");
  CHECK(activation_refusal(row_major_scales(scales_at(), 5, 384)) ==
        "a_scales has shape (5, 3): expected FP32 scales (rows, K / 128) = (5, 4)");
  CHECK(activation_refusal(row_major_scales(scales_at(), 5, 512, 4), kScaledMasked) ==
        "a_scales has shape (4, 5, 4): expected FP32 scales (groups, rows, K / 128) = (3, 5, 4)");
  CHECK(weight_refusal(weight_scales(scales_at(), 3, 512, 512)) ==
        "b_scales has shape (3, 4, 4): expected FP32 scales (groups, ceil(N / 128), K / 128) = (3, 5, 4)");
  ScaleTensor scales = weight_scales(scales_at(), 3, 576, 512);
  scales.rank = 2;
  CHECK(weight_refusal(scales).find("b_scales has rank 2: ") == 0);
  scales.rank = 1 << 30;
  CHECK(weight_refusal(scales).find("b_scales has rank 1073741824: ") == 0);
  scales.rank = -1;
  CHECK(weight_refusal(scales).find("b_scales has rank -1: ") == 0);
}

TEST_CASE("Scales of other strides are refused with the strides of both layouts") {
  ScaleTensor scales = column_major_scales(scales_at(), 5, 512);
  scales.strides[1] = 5;  // column-major, but not padded
  CHECK(activation_refusal(scales) ==
        "a_scales has strides (1, 5): expected (1, 8) (column-major, aligned) or (4, 1) (row-major)");
  scales = row_major_scales(scales_at(), 5, 512);
  scales.strides[0] = 8;  // a slice of wider rows
  CHECK(activation_refusal(scales).find("strides (8, 1)") != std::string::npos);
  scales = row_major_scales(scales_at(), 5, 512, 3);
  scales.strides[0] = 32;  // groups as far apart as in the other layout
  CHECK(activation_refusal(scales, kScaledMasked) ==
        "a_scales has strides (32, 4, 1): expected (32, 1, 8) (column-major, aligned) or (20, 4, 1) (row-major)");
  scales = weight_scales(scales_at(), 3, 576, 512);
  scales.strides = {20, 1, 5};
  CHECK(weight_refusal(scales) == "b_scales has strides (20, 1, 5): expected (20, 4, 1) (row-major)");
}

TEST_CASE("Misaligned scales are refused with the alignment that their layout needs") {
  CHECK(activation_refusal(column_major_scales(scales_at(0x10004), 5, 512)) ==
        "a_scales is not aligned to 16 bytes, as column-major scales are");
  CHECK(jit::check_activation_scales(row_major_scales(scales_at(0x10004), 5, 512), kScaledContiguous, 5) == kRowMajor);
  CHECK(activation_refusal(row_major_scales(scales_at(0x10002), 5, 512)) ==
        "a_scales is not aligned to 4 bytes, as FP32 scales are");
  CHECK(jit::check_weight_scales(weight_scales(scales_at(0x10004), 3, 576, 512), kScaledMasked));
  CHECK(weight_refusal(weight_scales(scales_at(0x10001), 3, 576, 512)) ==
        "b_scales is not aligned to 4 bytes, as FP32 scales are");
}

TEST_CASE("UE8M0 scales are refused by name, whatever else is wrong with them") {
  ScaleTensor scales = column_major_scales(nullptr, 6, 128);
  scales.type = ScaleType::ue8m0;
  const std::string message =
      refusal(jit::check_activation_scales(scales, kScaledContiguous, 5), ErrorCode::unsupported);
  CHECK(message ==
        "a_scales holds UE8M0 scales, which belong to sm_100; sm_90 takes FP32: expected FP32 scales (rows, K / 128) = "
        "(5, 4)");
  scales = weight_scales(scales_at(), 3, 576, 512);
  scales.type = ScaleType::ue8m0;
  CHECK(refusal(jit::check_weight_scales(scales, kScaledMasked), ErrorCode::unsupported).find("b_scales holds UE8M0") ==
        0);
  scales.type = static_cast<ScaleType>(7);
  CHECK(weight_refusal(scales).find("b_scales is of an unknown type: ") == 0);
}

TEST_CASE("Scales for a BF16 problem are refused") {
  CHECK(jit::check_no_scales({}, {}));
  CHECK(refusal(jit::check_no_scales(row_major_scales(scales_at(), 5, 512), {})) ==
        "a_scales is given, but the problem is BF16, which has no scales");
  CHECK(refusal(jit::check_no_scales({}, weight_scales(scales_at(), 3, 576, 512))) ==
        "b_scales is given, but the problem is BF16, which has no scales");
  CHECK_FALSE(jit::check_no_scales({scales_at()}, {}));
}
