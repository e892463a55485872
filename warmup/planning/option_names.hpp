// The names of a request's fields in messages: options for the command, members of a struct for the C interface.
#pragma once

namespace cubinet::warmup {

struct OptionNames {
  const char* sources;  // all sources of problems: "--model FILE, --shape N,K,GROUPS, --recorded or --generic-only"
  const char* model;
  const char* problem;   // a problem that is given by its numbers
  const char* problems;  // the list of such problems
  const char* recorded;
  const char* generic_only;
  const char* no_generic;
  const char* expert_parallel;
  const char* tensor_parallel;
  const char* redundant_experts;
  const char* engine_prefix;  // prefix of an engine's name in the name of its launch command: "--" of "--sglang"
  const char* dtype;
  const char* layout;
  const char* m_first;
  const char* m_last;
  const char* cache;
  const char* cache_value;  // with its value: "--cache DIR"
};

// The names that the command uses.
inline constexpr OptionNames command_options{
    .sources = "--model FILE, --shape N,K,GROUPS, --recorded or --generic-only",
    .model = "--model",
    .problem = "--shape",
    .problems = "--shape",
    .recorded = "--recorded",
    .generic_only = "--generic-only",
    .no_generic = "--no-generic",
    .expert_parallel = "--ep",
    .tensor_parallel = "--tp",
    .redundant_experts = "--redundant-experts",
    .engine_prefix = "--",
    .dtype = "--dtype",
    .layout = "--layout",
    .m_first = "--m-min",
    .m_last = "--m-max",
    .cache = "--cache",
    .cache_value = "--cache DIR"};

}  // namespace cubinet::warmup
