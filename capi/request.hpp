// Requests of the C interface and of the public C++ one, on top of the planner.
#pragma once

#include <string>

#include "cubinet/cubinet.h"
#include "cubinet/request.hpp"
#include "util/expected.hpp"
#include "warmup/planning/option_names.hpp"
#include "warmup/planning/request.hpp"

namespace cubinet::capi {

// The names of fields in messages: those of cubinet_request, cubinet_options and Request.
inline constexpr warmup::OptionNames field_names{
    .sources = "request.model, request.problems, request.recorded or request.generic_only",
    .model = "request.model",
    .problem = "problem",
    .problems = "request.problems",
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

// The request of a C caller. `given` may be NULL, which is an error, too. Errors: invalid_argument, which names the
// field.
Expected<Request> request_of(const cubinet_request* given);

// See warmup::resolve. `cache_root` is the cabinet of the recorded problems if the request names no other.
Expected<warmup::ResolvedRequest> resolve(Request request, const std::string& cache_root);

// A request and its plan.
struct Planned {
  warmup::ResolvedRequest request;
  warmup::Plan plan;
};

// Errors: those of request_of(), resolve() and warmup::make_plan().
Expected<Planned> plan_of(const cubinet_request* request, const std::string& cache_root);

}  // namespace cubinet::capi
