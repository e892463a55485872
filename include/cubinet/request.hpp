// A request for kernels: a model, problems or recorded problems. Plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cubinet/problem.hpp"

namespace cubinet {

// Names the problems in one of four ways: `model` (or a launch command that names the model), `problems`, `recorded`,
// or `generic_only`. More than one of them is refused, and so is a field that does not apply to the chosen one. Fields
// are called as in cubinet_request (cubinet.h); error messages name them "request.model" and so on.
struct Request {
  // Path of a model's config.json, or of the folder that holds it. Empty: no model.
  std::string model;
  // Problems, each with its own range of M. Of the fields below only arch and no_generic apply.
  std::vector<ProblemRange> problems;
  // The problems that engines recorded in a cabinet, each with its own range of M. Of the fields below only
  // recorded_from, arch and no_generic apply.
  bool recorded = false;
  // With `recorded`: the cabinet's root, or a file written by `cubinet cache problems --json`. Empty: the cabinet of
  // ServiceOptions::cache_root.
  std::string recorded_from;
  // Only the generic kernels (N and K are run-time values) of `dtype` and `layout`. A start refuses it, because it
  // names no problem.
  bool generic_only = false;

  // With a model: the number of ranks over which its experts are distributed, the number of ranks over which each
  // expert's width is split, and the number of additional copies of experts on all ranks together.
  std::int64_t expert_parallel = 1;
  std::int64_t tensor_parallel = 1;
  std::int64_t redundant_experts = 0;
  // In place of the three numbers: the server's launch command, by the name of its engine: {"sglang", "--tp 8 --ep 8"}
  // or {"vllm", "vllm serve DIR -tp 8"}. At most one is not empty. It also gives the model, if `model` is empty and the
  // command names a folder that exists here.
  std::map<std::string, std::string, std::less<>> launch;

  // With a model or generic_only. Empty `dtype`: the type in which the model stores its experts; both types for
  // generic_only. Empty `layout`: the layouts that the launch command uses, else both.
  std::vector<DataType> dtype;
  std::vector<Layout> layout;
  // With a model or generic_only: the range of M, 1 <= m_first <= m_last <= largest_m().
  std::int64_t m_first = 1;
  std::int64_t m_last = largest_m();

  // For a plan and a warmup; a start takes the device's architecture and all kernels that it needs.
  std::string arch = "sm_90a";
  bool no_generic = false;  // plan no generic kernels
};

}  // namespace cubinet
