#include "warmup/campaign/coverage.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "jit/provide.hpp"
#include "util/clock.hpp"
#include "util/digest.hpp"

namespace cubinet::warmup {
namespace {

using Json = nlohmann::json;

auto order_of(const ProblemRange& one) {
  const Problem& problem = one.problem;
  return std::make_tuple(problem.data_type, problem.layout, problem.n, problem.k, problem.groups, one.range.first);
}

Json to_json(const ProblemRange& one) {
  const Problem& problem = one.problem;
  return {{"dtype", jit::data_type_name(problem.data_type)},
          {"groups", problem.groups},
          {"k", problem.k},
          {"layout", jit::layout_name(problem.layout)},
          {"m", {one.range.first, one.range.last}},
          {"n", problem.n}};
}

// These throw nlohmann::json exceptions for members that are missing or have another type.
ProblemRange problem_range_from(const Json& json) {
  Problem problem;
  // An unknown name has a default here; subject_from_json() refuses it, for the subject is then written differently.
  problem.data_type = jit::data_type_named(json.at("dtype").get<std::string>()).value_or(problem.data_type);
  problem.layout = jit::layout_named(json.at("layout").get<std::string>()).value_or(problem.layout);
  json.at("n").get_to(problem.n);
  json.at("k").get_to(problem.k);
  json.at("groups").get_to(problem.groups);
  return {problem, {json.at("m").at(0).get<std::int64_t>(), json.at("m").at(1).get<std::int64_t>()}};
}

Subject read_subject(const Json& json) {
  Subject subject;
  for (const Json& problem : json.at("problems")) subject.problems.push_back(problem_range_from(problem));
  json.at("arch").get_to(subject.architecture);
  json.at("num_sms").get_to(subject.num_sms);
  json.at("templates").get_to(subject.templates);
  if (const Json& executed = json.at("executed"); !executed.is_null()) {
    subject.executed = Executed{executed.at("device").get<std::string>(), executed.at("driver").get<std::string>()};
  }
  return subject;
}

bool contains(MRange outer, MRange inner) { return outer.first <= inner.first && inner.last <= outer.last; }

bool is_among(const ProblemRange& wanted, const std::vector<ProblemRange>& recorded) {
  return std::any_of(recorded.begin(), recorded.end(), [&](const ProblemRange& one) {
    return one.problem == wanted.problem && contains(one.range, wanted.range);
  });
}

std::vector<cache::Key> ascending(std::vector<cache::Key> keys) {
  std::sort(keys.begin(), keys.end());
  return keys;
}

// Precondition: both are in ascending order.
bool includes(const std::vector<cache::Key>& all, const std::vector<cache::Key>& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

// The compilers of the plan's kernels; none if one of them or of the entries `others` is missing or damaged.
std::optional<jit::CompilerCounts> compiler_counts_of(const cache::Cabinet& cabinet, const Plan& plan,
                                                      const std::vector<cache::Key>& others) {
  jit::CompilerCounts counts;
  for (const PlannedKernel& kernel : plan.kernels) {
    const auto found = jit::find(kernel.spec, cabinet);
    if (!found) return std::nullopt;
    ++counts[found->object.facts.compiler];
  }
  const auto holds = [&](const cache::Key& key) { return cabinet.holds(key); };
  return std::all_of(others.begin(), others.end(), holds) ? std::optional(std::move(counts)) : std::nullopt;
}

std::vector<cache::Key> without(const std::vector<cache::Key>& all, const std::vector<cache::Key>& some) {
  std::vector<cache::Key> rest;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(rest));
  return rest;
}

bool is_complete(const Report& report, const Plan& plan) {
  const auto kernels = static_cast<std::int64_t>(plan.kernels.size());
  return report.failed.empty() && report.remaining.empty() && report.compiled + report.hits == kernels &&
         report.stored == report.compiled && report.persist != cache::Persistence::off;
}

}  // namespace

Subject subject_of(const PlanRequest& request, std::optional<Executed> executed) {
  Subject subject;
  subject.problems = request.problems;
  if (!request.specialized) {
    for (auto& [problem, range] : subject.problems) problem = {problem.data_type, problem.layout};
  }
  subject.problems = merged(subject.problems);
  std::ranges::sort(subject.problems, {}, order_of);
  subject.architecture = request.target.architecture;
  subject.num_sms = request.target.sms;
  subject.templates = templates_digest();
  subject.executed = std::move(executed);
  return subject;
}

std::string templates_digest(const std::vector<jit::TemplateFile>& files) {
  std::string text;
  for (const jit::TemplateFile& file : files) text += file.name + ' ' + file.digest + '\n';
  return util::sha256_hex(text);
}

std::string to_json(const Subject& subject) {
  Json problems = Json::array();
  for (const ProblemRange& problem : subject.problems) problems.push_back(to_json(problem));
  Json executed;
  if (subject.executed) executed = {{"device", subject.executed->device}, {"driver", subject.executed->driver}};
  const Json json{{"arch", subject.architecture},
                  {"executed", std::move(executed)},
                  {"num_sms", subject.num_sms},
                  {"problems", std::move(problems)},
                  {"templates", subject.templates}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<Subject> subject_from_json(std::string_view json) {
  try {
    Subject subject = read_subject(Json::parse(json));
    // A text that differs was written by another build, which may record more than this one reads.
    if (to_json(subject) != json) return std::nullopt;
    return subject;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::vector<CoverageRecord> read_records(const std::vector<cache::Coverage>& coverages,
                                         const std::vector<cache::Entry>& entries) {
  const std::string templates = templates_digest();
  std::map<cache::Key, std::string> compilers;
  for (const cache::Entry& entry : entries) compilers[entry.key] = entry.facts.compiler;
  std::vector<CoverageRecord> records;
  for (const cache::Coverage& one : coverages) {
    auto subject = subject_from_json(one.subject);
    if (!subject) continue;
    const bool current = subject->templates == templates;
    jit::CompilerCounts counts;
    for (const cache::Key& key : one.keys) {
      if (const auto found = compilers.find(key); found != compilers.end()) ++counts[found->second];
    }
    records.push_back({std::move(*subject), current, one.keys.size(), std::move(counts), one.recorded});
  }
  return records;
}

bool covers(const Subject& recorded, const Subject& wanted) {
  const bool executed = !wanted.executed || (recorded.executed && recorded.executed->device == wanted.executed->device);
  return executed && recorded.architecture == wanted.architecture && recorded.num_sms == wanted.num_sms &&
         recorded.templates == wanted.templates &&
         std::all_of(wanted.problems.begin(), wanted.problems.end(),
                     [&](const ProblemRange& one) { return is_among(one, recorded.problems); });
}

std::vector<cache::Key> keys_of(const Plan& plan) {
  std::vector<cache::Key> keys;
  for (const PlannedKernel& kernel : plan.kernels) keys.push_back(jit::key_of(kernel.spec));
  return keys;
}

std::optional<jit::CompilerCounts> find_coverage(cache::Cabinet& cabinet, const Plan& plan, const Subject& wanted) {
  cache::Maintenance maintenance(cabinet);
  const auto recorded = maintenance.coverage();
  if (!recorded || recorded->empty()) return std::nullopt;
  const std::vector<cache::Key> keys = ascending(keys_of(plan));
  std::vector<cache::Coverage> untrue;
  std::optional<jit::CompilerCounts> found;
  for (const cache::Coverage& one : *recorded) {
    const auto subject = subject_from_json(one.subject);
    // A build with other selection rules has other kernels for the same subject; includes() excludes its records.
    if (!subject || !covers(*subject, wanted) || !includes(one.keys, keys)) continue;
    if (found = compiler_counts_of(cabinet, plan, without(one.keys, keys)); found) break;
    untrue.push_back(one);
  }
  maintenance.drop_coverage(untrue);
  return found;
}

std::optional<Report> warm_from_coverage(cache::Cabinet& cabinet, const Plan& plan, const Subject& wanted) {
  const util::Moment begin = util::now();
  auto counts = find_coverage(cabinet, plan, wanted);
  if (!counts || jit::unaccepted_of(*counts) > 0) return std::nullopt;
  Report report;
  report.compilers = std::move(*counts);
  report.hits = static_cast<std::int64_t>(plan.kernels.size());
  report.hit_keys = keys_of(plan);
  cabinet.record_hits(report.hit_keys);
  report.persist = cabinet.persistence();
  report.seconds = util::seconds_since(begin);
  return report;
}

Expected<bool> record_coverage(cache::Cabinet& cabinet, const Plan& plan, const Subject& subject,
                               const Report& report) {
  if (!is_complete(report, plan)) return false;
  const std::string text = to_json(subject);
  const std::vector<cache::Key> keys = ascending(keys_of(plan));
  cache::Maintenance maintenance(cabinet);
  if (auto recorded = maintenance.record_coverage(text, keys); !recorded) return propagate(recorded);
  std::vector<cache::Coverage> superseded;
  for (const cache::Coverage& one : maintenance.coverage().value_or(std::vector<cache::Coverage>())) {
    const auto former = subject_from_json(one.subject);
    if (one.subject != text && former && covers(subject, *former) && includes(keys, one.keys)) {
      superseded.push_back(one);
    }
  }
  maintenance.drop_coverage(superseded);
  return true;
}

}  // namespace cubinet::warmup
