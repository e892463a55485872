// Quantization to e4m3 on the host. The quantization kernels must agree with it in every bit.
#pragma once

#include <cstdint>
#include <vector>

namespace cubinet::warmup {

// The bits of an FP32 number.
std::uint32_t bits_of(float value);

// The e4m3fn number nearest to `value`, ties to even. Magnitudes above 448 become 448.
std::uint8_t e4m3_of(float value);

struct HostQuantized {
  std::vector<std::uint8_t> q;
  std::vector<float> scales;  // row-major
};

// Quantizes bf16 (rows, k) with one scale per row and 128 columns. k is a multiple of 128.
HostQuantized quantize_rows_on_host(const std::vector<std::uint16_t>& x, std::int64_t rows, std::int64_t k);

// Quantizes bf16 (groups, n, k) with one scale per group and 128 x 128 block of (n, k). k is a multiple of 128.
HostQuantized quantize_weights_on_host(const std::vector<std::uint16_t>& w, std::int64_t groups, std::int64_t n,
                                       std::int64_t k);

}  // namespace cubinet::warmup
