// The models under examples/models, as problems.
#pragma once

#include <string>
#include <vector>

#include "cubinet/problem.hpp"

namespace cubinet::warmup {

// The folders' names, without the dense one.
std::vector<std::string> example_models();

// The problems of a model with both layouts; empty if `expert_parallel` does not divide its experts. FP8 is possible
// for every model but gpt-oss-120b.
std::vector<Problem> example_problems(const std::string& model, std::int64_t expert_parallel,
                                      const std::vector<DataType>& types = {DataType::bf16});

}  // namespace cubinet::warmup
