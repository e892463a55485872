// What plan and warmup are asked for.
#pragma once

#include <string>

#include "cubinet/cubinet.h"
#include "util/expected.hpp"
#include "warmup/planning/option_names.hpp"
#include "warmup/planning/request.hpp"

namespace cubinet::capi {

// How messages call what a caller gives: as fields of his structs.
inline constexpr warmup::OptionNames field_names{.sources =
                                                     "request.model, request.problems, request.recorded or "
                                                     "request.generic_only",
                                                 .model = "request.model",
                                                 .problem = "problem",
                                                 .recorded = "request.recorded",
                                                 .generic_only = "request.generic_only",
                                                 .no_generic = "request.no_generic",
                                                 .expert_parallel = "request.expert_parallel",
                                                 .tensor_parallel = "request.tensor_parallel",
                                                 .redundant_experts = "request.redundant_experts",
                                                 .engine_prefix = "request.",
                                                 .dtype = "request.dtype",
                                                 .layout = "request.layout",
                                                 .m_first = "request.m_first",
                                                 .m_last = "request.m_last",
                                                 .cache = "options.cache_root",
                                                 .cache_value = "options.cache_root"};

// A request, with its plan.
struct Planned {
  warmup::Request request;
  warmup::Plan plan;
};

// Reads the model, if one is named, or what engines asked for; `root` is the cabinet where that is recorded unless the
// request says so. Errors name the field, or the file.
Expected<Planned> plan_of(const cubinet_request* request, const std::string& root);

}  // namespace cubinet::capi
