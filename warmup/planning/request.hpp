// What to plan for: from what a user gives to the problems, with every check that does not depend on how it is given.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cubinet/problem.hpp"
#include "util/expected.hpp"
#include "warmup/planning/derivation.hpp"
#include "warmup/planning/engines/launched.hpp"
#include "warmup/planning/model_problems.hpp"
#include "warmup/planning/option_names.hpp"
#include "warmup/planning/plan.hpp"

namespace cubinet::warmup {

struct RequestOptions {
  std::string model;        // a config.json, or the folder of one; empty: none
  bool recorded = false;    // what engines asked for; each problem has its own type, layout and M
  std::string recorded_in;  // where: a cabinet's root, or a file, see read_recorded
  bool generic_only = false;
  bool no_generic = false;
  Parallelism parallelism;      // of a model
  engines::LaunchTexts launch;  // one launch command, in the place of `parallelism`: {"sglang": "--tp 8 --ep 8"}
  std::string dtype;            // "bf16,fp8"; empty: what the model's weights are, both for generic_only
  std::string layout;           // "contiguous,masked"; empty: those that the launch command leads to, else both
  std::int64_t m_min = 1;
  std::int64_t m_max = largest_m;  // to the end of each ladder of configurations
  std::string arch = "sm_90a";
  std::int64_t num_sms = 132;
};

// Makes the problems that are given themselves and not by a model, each with its M; `types` is empty where dtype is.
// Null: none are.
using GivenProblems = std::function<Expected<std::vector<ProblemRange>>(const std::vector<Layout>& layouts,
                                                                        const std::vector<DataType>& types)>;

struct Request {
  PlanRequest plan;
  std::vector<std::string> notes;      // what the user should know of the source of the problems, each on one line
  std::vector<Derivation> derivation;  // how the numbers of the plan came about
};

// Checks that the options fit together, and reads the model if one is named; asks `given` for nothing before that.
// Errors name the option, as `names` has it, or the file.
Expected<Request> resolve(const RequestOptions& options, const GivenProblems& given, const OptionNames& names);

// How a size that kernels of `type` do not take is mended, for the end of a message: "; padding K to 128 mends it",
// where `padding` is "padding K". Empty when they take it.
std::string padding_mend(DataType type, std::int64_t size, const char* padding);

}  // namespace cubinet::warmup
