// The tile configuration of a Hopper kernel on the host. The type itself, and the sizes that follow from it, are in the
// header that the kernels share: templates/sm90/shared/gemm.cuh.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "templates/sm90/shared/gemm.cuh"

namespace cubinet::sm90 {

std::strong_ordering operator<=>(const TileConfig& a, const TileConfig& b);
bool operator==(const TileConfig& a, const TileConfig& b);

// Relative compile time of a kernel: with tokens on N its code holds a loop for each token count, each as large as its
// count.
std::int64_t compile_weight(const TileConfig& config);

// A short stable name for listings, such as "t256x128u64s4c2b8".
std::string name(const TileConfig& config);

}  // namespace cubinet::sm90

namespace cubinet::jit::sm90 {

// Makes the declarations that the host shares with the kernels visible in the host's namespace.
using namespace ::cubinet::sm90;

}  // namespace cubinet::jit::sm90
