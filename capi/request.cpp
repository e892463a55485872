#include "capi/request.hpp"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "capi/support.hpp"
#include "warmup/campaign/setup.hpp"

namespace cubinet::capi {
namespace {

// Refuses an empty text; NULL is accepted.
Expected<void> check_text(const char* text, const char* name) {
  if (text == nullptr || *text != '\0') return {};
  return fail(ErrorCode::invalid_argument, fmt::format("{} is empty; pass NULL to leave it out", name));
}

Expected<void> check_texts(const cubinet_request& given) {
  return check_text(given.model, field_names.model)
      .and_then([&] { return check_text(given.recorded_from, "request.recorded_from"); })
      .and_then([&] { return check_text(given.dtype, field_names.dtype); })
      .and_then([&] { return check_text(given.layout, field_names.layout); })
      .and_then([&] { return check_text(given.arch, "request.arch"); })
      .and_then([&] { return check_text(given.sglang, "request.sglang"); })
      .and_then([&] { return check_text(given.vllm, "request.vllm"); });
}

// The problems, each with the request's range of M in place of its own.
Expected<std::vector<ProblemRange>> given_problems(const cubinet_request& given) {
  auto problems = problems_of(given.problems, given.problem_count, "request.problems");
  if (!problems) return problems;
  for (ProblemRange& one : *problems) one.range = {given.m_first, given.m_last};
  return problems;
}

// The fields that need no conversion.
Request plain_fields(const cubinet_request& given) {
  Request request;
  request.model = text_or(given.model, "");
  request.recorded = given.recorded != 0;
  request.recorded_from = text_or(given.recorded_from, "");
  request.generic_only = given.generic_only != 0;
  request.expert_parallel = given.expert_parallel;
  request.tensor_parallel = given.tensor_parallel;
  request.redundant_experts = given.redundant_experts;
  request.launch = {{"sglang", text_or(given.sglang, "")}, {"vllm", text_or(given.vllm, "")}};
  request.m_first = given.m_first;
  request.m_last = given.m_last;
  request.arch = text_or(given.arch, request.arch);
  request.no_generic = given.no_generic != 0;
  return request;
}

Expected<Request> read(const cubinet_request& given) {
  if (auto sound = check_texts(given); !sound) return propagate(sound);
  Request request = plain_fields(given);
  auto problems = given_problems(given);
  if (!problems) return propagate(problems);
  auto types = warmup::parse_types(text_or(given.dtype, ""), field_names.dtype);
  if (!types) return propagate(types);
  auto layouts = warmup::parse_layouts(text_or(given.layout, ""), field_names.layout);
  if (!layouts) return propagate(layouts);
  request.problems = *std::move(problems);
  request.dtype = *std::move(types);
  request.layout = *std::move(layouts);
  return request;
}

}  // namespace

Expected<Request> request_of(const cubinet_request* given) { return taken(given, "request").and_then(read); }

Expected<warmup::ResolvedRequest> resolve(Request request, const std::string& cache_root) {
  if (!request.recorded && !request.recorded_from.empty()) {
    return fail(ErrorCode::invalid_argument, "request.recorded_from requires request.recorded");
  }
  if (request.recorded && request.recorded_from.empty()) {
    auto root = warmup::cabinet_root(cache_root, field_names);
    if (!root) return propagate(root);
    request.recorded_from = *std::move(root);
  }
  return warmup::resolve(request, field_names);
}

Expected<Planned> plan_of(const cubinet_request* request, const std::string& cache_root) {
  auto resolved =
      request_of(request).and_then([&](Request&& given) { return capi::resolve(std::move(given), cache_root); });
  if (!resolved) return propagate(resolved);
  auto plan = warmup::make_plan(resolved->plan);
  if (!plan) return propagate(plan);
  return Planned{*std::move(resolved), std::move(*plan)};
}

}  // namespace cubinet::capi
