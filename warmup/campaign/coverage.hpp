// Coverage records: a warmup that compiled its whole plan records for which request the cabinet is complete, so that
// the next warmup for the same request only checks the entries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/maintenance.hpp"
#include "cubinet/problem.hpp"
#include "jit/accepted_compilers.hpp"
#include "jit/templates.hpp"
#include "util/expected.hpp"
#include "warmup/campaign/runner.hpp"
#include "warmup/planning/plan.hpp"

namespace cubinet::warmup {

// The device on which kernels were executed.
struct Executed {
  std::string device;  // name
  std::string driver;  // version of the driver

  friend bool operator==(const Executed&, const Executed&) = default;
};

// A request, and everything else that its kernels depend on.
struct Subject {
  // Distinct, in ascending order of type, layout, N, K, groups and M. N, K and groups are 0 if only the generic kernels
  // were requested. Ranges of one problem neither overlap nor touch.
  std::vector<ProblemRange> problems;
  std::string architecture;
  std::int32_t num_sms = 0;
  std::string templates;  // SHA-256 over the names and digests of all template files
  std::optional<Executed> executed;

  friend bool operator==(const Subject&, const Subject&) = default;
};

// The subject of a request with the templates of this build.
Subject subject_of(const PlanRequest& request, std::optional<Executed> executed = std::nullopt);

// SHA-256 over the names and digests of the files.
std::string templates_digest(const std::vector<jit::TemplateFile>& files = jit::template_files());

// Canonical JSON: one object with sorted keys and no white space.
std::string to_json(const Subject& subject);
// None for a text that to_json does not write.
std::optional<Subject> subject_from_json(std::string_view json);

// A coverage record of a cabinet.
struct CoverageRecord {
  Subject subject;
  bool current = false;  // its kernels have the templates of this build
  std::size_t kernels = 0;
  jit::CompilerCounts compilers;  // the compilers of those kernels that are among the entries
  std::int64_t recorded = 0;      // seconds since 1970
};

// The records whose subject this build can read, in the same order. `entries` are the cabinet's.
std::vector<CoverageRecord> read_records(const std::vector<cache::Coverage>& coverages,
                                         const std::vector<cache::Entry>& entries);

// Whether a cabinet that is complete for `recorded` is complete for `wanted` too: every wanted problem with all of its
// M is among the recorded ones, architecture, SMs and templates are equal, and if execution is wanted, the recorded one
// was on a device of the same name.
bool covers(const Subject& recorded, const Subject& wanted);

// The keys of a plan's kernels, in the order of the plan.
std::vector<cache::Key> keys_of(const Plan& plan);

// The compilers of the plan's kernels, if the cabinet is known to be complete for `wanted`; else none. It is if a
// recorded subject covers `wanted`, every kernel of `plan` is among the record's entries, and all of these entries are
// present and undamaged now. A record with a missing or damaged entry is deleted if the cabinet can be written.
// Precondition: `plan` is the plan of `wanted`.
std::optional<jit::CompilerCounts> find_coverage(cache::Cabinet& cabinet, const Plan& plan, const Subject& wanted);

// The report of warm() if find_coverage() has a result and accepted compilers made all of the plan's kernels: every
// kernel is a hit, and the hits are recorded. Else none. Opens no compiler.
std::optional<Report> warm_from_coverage(cache::Cabinet& cabinet, const Plan& plan, const Subject& wanted);

// Writes a coverage record for `subject`, and deletes the records that it covers, if the whole plan was done: nothing
// failed or remains, and everything that was compiled is stored. False if the plan was not done. Errors: the record
// could not be written.
Expected<bool> record_coverage(cache::Cabinet& cabinet, const Plan& plan, const Subject& subject, const Report& report);

}  // namespace cubinet::warmup
