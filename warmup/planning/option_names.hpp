// How the user of an interface calls what he gives, for messages: as options of the command, or as fields of a struct.
#pragma once

namespace cubinet::warmup {

struct OptionNames {
  const char*
      sources;  // all ways to say what to plan for: "--model FILE, --shape N,K,GROUPS, --recorded or --generic-only"
  const char* model;
  const char* problem;   // one that is given itself
  const char* problems;  // the list of them
  const char* recorded;
  const char* generic_only;
  const char* no_generic;
  const char* expert_parallel;
  const char* tensor_parallel;
  const char* redundant_experts;
  const char* engine_prefix;  // what stands before an engine's name for its launch command: "--"
  const char* dtype;
  const char* layout;
  const char* m_first;
  const char* m_last;
  const char* cache;
  const char* cache_value;  // the same with what follows it: "--cache DIR"
};

// The command's.
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
