#include "capi/request.hpp"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "capi/support.hpp"
#include "warmup/campaign/cabinet_root.hpp"

namespace cubinet::capi {
namespace {

// A text that is given says something.
Expected<void> check_text(const char* text, const char* name) {
  if (text == nullptr || *text != '\0') return {};
  return fail(ErrorCode::invalid_argument, fmt::format("{} is empty; NULL leaves it out", name));
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

// Each problem has a type and a layout of its own.
Expected<void> check_apart_from_problems(const cubinet_request& given) {
  if (given.recorded == 0 && given.recorded_from != nullptr) {
    return fail(ErrorCode::invalid_argument, "request.recorded_from is nothing without request.recorded");
  }
  const bool own = given.problem_count > 0 || given.recorded != 0;
  if (!own || (given.dtype == nullptr && given.layout == nullptr)) return {};
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("{} is not for {}: each has its own", given.dtype != nullptr ? field_names.dtype : field_names.layout,
                  given.recorded != 0 ? field_names.recorded : "request.problems"));
}

// The request's range of M counts, not the problems' own.
Expected<std::vector<ProblemRange>> given_problems(const cubinet_request& given) {
  auto problems = problems_of(given.problems, given.problem_count, "request.problems");
  if (!problems) return problems;
  for (ProblemRange& one : *problems) one.range = {given.m_first, given.m_last};
  return problems;
}

warmup::RequestOptions options_of(const cubinet_request& given) {
  warmup::RequestOptions options;
  options.model = text_or(given.model, "");
  options.recorded = given.recorded != 0;
  options.generic_only = given.generic_only != 0;
  options.no_generic = given.no_generic != 0;
  options.parallelism.expert = given.expert_parallel;
  options.parallelism.tensor = given.tensor_parallel;
  options.parallelism.redundant = given.redundant_experts;
  options.launch = {{"sglang", text_or(given.sglang, "")}, {"vllm", text_or(given.vllm, "")}};
  options.dtype = text_or(given.dtype, options.dtype);
  options.layout = text_or(given.layout, options.layout);
  options.m_min = given.m_first;
  options.m_max = given.m_last;
  options.arch = text_or(given.arch, options.arch);
  return options;
}

Expected<std::string> recorded_place(const cubinet_request& given, const std::string& root) {
  if (given.recorded_from != nullptr) return std::string(given.recorded_from);
  return warmup::cabinet_root(root, field_names);
}

Expected<warmup::Request> resolve(const cubinet_request& given, const std::string& root) {
  warmup::GivenProblems problems;
  if (given.problem_count > 0) {
    problems = [&given](const auto& /*layouts*/, const auto& /*types*/) { return given_problems(given); };
  }
  return check_texts(given).and_then([&] { return check_apart_from_problems(given); }).and_then([&] {
    warmup::RequestOptions options = options_of(given);
    if (!options.recorded) return warmup::resolve(options, problems, field_names);
    return recorded_place(given, root).and_then([&](std::string place) {
      options.recorded_in = std::move(place);
      return warmup::resolve(options, problems, field_names);
    });
  });
}

}  // namespace

Expected<Planned> plan_of(const cubinet_request* request, const std::string& root) {
  auto resolved =
      taken(request, "request").and_then([&](const cubinet_request& given) { return resolve(given, root); });
  if (!resolved) return propagate(resolved);
  auto plan = warmup::make_plan(resolved->plan);
  if (!plan) return propagate(plan);
  return Planned{*std::move(resolved), std::move(*plan)};
}

}  // namespace cubinet::capi
