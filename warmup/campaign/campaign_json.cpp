#include "warmup/campaign/campaign.hpp"

#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "util/expected.hpp"
#include "util/json_text.hpp"
#include "warmup/planning/plan_json.hpp"

namespace cubinet::warmup {
namespace {

using util::json_array;
using util::json_object;
using util::json_string;
using Members = std::vector<util::JsonMember>;

const char* coverage_name(CoverageState coverage) {
  switch (coverage) {
    case CoverageState::found:
      return "found";
    case CoverageState::recorded:
      return "recorded";
    case CoverageState::none:
      return "none";
    case CoverageState::unknown:
      return "unknown";
  }
  return "none";
}

std::string failures_json(const Report& report) {
  std::vector<std::string> failures;
  for (const Failure& failure : report.failed) {
    failures.push_back(json_object({{"key", json_string(failure.key)},
                                    {"family", json_string(failure.family)},
                                    {"code", json_string(code_name(failure.error.code))},
                                    {"message", json_string(failure.error.message)},
                                    {"log", json_string(failure.error.detail)}}));
  }
  return json_array(failures);
}

std::string compilers_json(const jit::CompilerCounts& counts) {
  std::vector<std::string> compilers;
  for (const auto& [compiler, kernels] : counts) {
    compilers.push_back(json_object({{"compiler", json_string(compiler)},
                                     {"kernels", std::to_string(kernels)},
                                     {"accepted", jit::is_accepted(compiler) ? "true" : "false"}}));
  }
  return json_array(compilers);
}

Members note_members(const KernelNote& note) {
  return {{"key", json_string(note.key)},
          {"family", json_string(note.spec.family_name())},
          {"n", std::to_string(note.spec.n)},
          {"k", std::to_string(note.spec.k)},
          {"config", json_string(note.spec.config)}};
}

std::string execution_failures_json(const ExecutionReport& execution) {
  std::vector<std::string> failures;
  for (const KernelNote& note : execution.failed) {
    Members members = note_members(note);
    members.emplace_back("message", json_string(note.reason));
    failures.push_back(json_object(members));
  }
  return json_array(failures);
}

std::string not_executed_json(const CampaignReport& report) {
  std::vector<std::string> notes;
  for (const KernelNote& note : report.execution.not_executed) {
    Members members = note_members(note);
    members.emplace_back("state", json_string(state_of(note, report.report)));
    members.emplace_back("reason", json_string(note.reason));
    notes.push_back(json_object(members));
  }
  return json_array(notes);
}

Members compilation_members(const CampaignReport& report) {
  const Report& done = report.report;
  return {{"unique_kernels", std::to_string(report.kernels)},
          {"compiled", std::to_string(done.compiled)},
          {"stored", std::to_string(done.stored)},
          {"replaced", std::to_string(done.replaced)},
          {"hits", std::to_string(done.hits)},
          {"shared", std::to_string(done.shared)},
          {"failed", std::to_string(done.failed.size())},
          {"failures", failures_json(done)},
          {"remaining", std::to_string(done.remaining.size())}};
}

Members execution_members(const CampaignReport& report) {
  const ExecutionReport& execution = report.execution;
  return {{"executed", std::to_string(execution.executed)},
          {"execution_failures", execution_failures_json(execution)},
          {"not_executed", not_executed_json(report)},
          {"launches", std::to_string(execution.launches)},
          {"peak_device_bytes", std::to_string(execution.peak_device_bytes)},
          {"memory_budget", std::to_string(execution.budget)},
          {"device", json_string(execution.device)}};
}

Members circumstances(const CampaignReport& report) {
  return {{"seconds", fmt::format("{}", report.seconds)},
          {"persist", json_string(cache::persistence_name(report.report.persist))},
          {"persist_problem", json_string(report.report.persist_problem)},
          {"damaged", std::to_string(report.damaged)},
          {"coverage", json_string(coverage_name(report.coverage))},
          {"coverage_problem", json_string(report.coverage_problem)},
          {"cache", json_string(report.root)},
          {"cache_notice", json_string(report.root_notice)},
          {"jobs", std::to_string(report.jobs.count)},
          {"jobs_reason", json_string(jit::reason_name(report.jobs.reason))},
          {"host_peak_bytes", std::to_string(report.memory.peak)},
          {"host_bytes_per_job", std::to_string(report.memory.per_job)},
          {"compiler", json_string(report.compiler)},
          {"compilers", compilers_json(report.report.compilers)},
          {"derivation", derivation_json(report.derivation)},
          {"notes", notes_json(report.notes)}};
}

}  // namespace

std::string campaign_json(const CampaignReport& report) {
  Members members = compilation_members(report);
  for (Members more : {execution_members(report), circumstances(report)}) {
    members.insert(members.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return json_object(members);
}

}  // namespace cubinet::warmup
