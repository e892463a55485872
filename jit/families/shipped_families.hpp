// The families of this build, one for each file of this folder that is named like it. For registry.cpp, and for
// families that refer to others; everything else asks the registry.
#pragma once

#include "jit/families/family.hpp"

namespace cubinet::jit {

const GemmFamily& bf16_grouped_contiguous();
const GemmFamily& bf16_grouped_masked();
const GemmFamily& fp8_grouped_contiguous();
const GemmFamily& fp8_grouped_masked();

// Makes FP8 operands and transposes activation scales (templates/fp8_quantization.cuh).
const Family& fp8_quantization();

// Fills operands and checks results of other kernels (templates/verification.cuh).
const Family& verification();

}  // namespace cubinet::jit
