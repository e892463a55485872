// Random tensors to quantize, and the quantization on the host.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/gpu.hpp"
#include "warmup/execution/host_quantization.hpp"

namespace cubinet::tests {

using warmup::bits_of;
using warmup::quantize_rows_on_host;
using warmup::quantize_weights_on_host;

// BF16 numbers with widely varying exponents: each row and block of 128 columns has a random size; some blocks are
// zero, and some are too small for a scale of their own.
std::vector<std::uint16_t> draw_tensor(Random& random, std::int64_t rows, std::int64_t k);

}  // namespace cubinet::tests
