// The options that say what to plan for, shared by `plan` and `warmup`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "util/expected.hpp"
#include "warmup/plan.hpp"

namespace CLI {
class App;
}

namespace cubinet::tools {

struct RequestOptions {
  std::string model;
  std::vector<std::string> shapes;
  bool generic_only = false;
  bool no_generic = false;
  std::int64_t expert_parallel = 1;
  std::int64_t tensor_parallel = 1;
  std::string dtype;  // empty: what the model's weights are; bf16 for a shape
  std::string layout = "contiguous,masked";
  std::int64_t m_min = 1;
  std::int64_t m_max = 16384;
  std::string arch = "sm_90a";
  std::int64_t num_sms = 132;
};

// What --help of each subcommand says of the types, below its example.
inline constexpr const char* types_help =
    "Without --dtype a model is planned in fp8 where its quantization_config has quant_method fp8 and\n"
    "weight_block_size [128,128], else in bf16.\n";

// Adds the options to a subcommand; `options` must outlive it.
void add_request_options(CLI::App& app, RequestOptions& options);

struct Request {
  warmup::PlanRequest plan;
  std::string note;  // something about the model that the user should know; may be empty
};

// Reads the model, if one is named, and checks that the options fit together. Errors name the option or the file.
Expected<Request> resolve(const RequestOptions& options);

}  // namespace cubinet::tools
