// A kernel family that exists in tests alone: a masked grouped GEMM of bf16 operands, one thread for each element of D.
// It proves that a family needs nothing outside its own files to go from a plan to a launch.
#pragma once

#include "jit/families/registry.hpp"

namespace cubinet::test {

// Launched with 128 threads a CTA, on every SM or on as many as the launch may occupy.
const jit::GemmFamily& naive_family();

// The naive family alone, for sm_90a.
const jit::Registry& naive_registry();

}  // namespace cubinet::test
