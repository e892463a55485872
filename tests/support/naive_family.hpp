// A kernel family that only tests have: a masked grouped GEMM of BF16 operands with one thread per element of D. It
// proves that a new family works from plan to launch without changes outside its own files.
#pragma once

#include "jit/families/registry.hpp"

namespace cubinet::test {

// Its kernels are launched with 128 threads per CTA on all SMs, or on as many as the launch may occupy.
const jit::GemmFamily& naive_family();

// A registry with only this family, for sm_90a.
const jit::Registry& naive_registry();

}  // namespace cubinet::test
