// Quantisation to e4m3 on the host, the plain way: what the kernels that quantise are compared with, bit for bit.
#pragma once

#include <cstdint>
#include <vector>

namespace cubinet::warmup {

std::uint32_t bits_of(float value);

// The e4m3fn number nearest to `value`, ties to even; |value| above 448 becomes 448.
std::uint8_t e4m3_of(float value);

struct HostQuantized {
  std::vector<std::uint8_t> q;
  std::vector<float> scales;  // row-major
};

// bf16 (rows, k), a scale per row and 128 of k.
HostQuantized quantize_rows_on_host(const std::vector<std::uint16_t>& x, std::int64_t rows, std::int64_t k);

// bf16 (groups, n, k), a scale per group and 128 x 128 of (n, k).
HostQuantized quantize_weights_on_host(const std::vector<std::uint16_t>& w, std::int64_t groups, std::int64_t n,
                                       std::int64_t k);

}  // namespace cubinet::warmup
