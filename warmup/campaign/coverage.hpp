// What a cabinet is complete for: recorded by a warmup that did all of its plan, so that the next one is a look-up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/cabinet.hpp"
#include "cubinet/problem.hpp"
#include "jit/accepted_compilers.hpp"
#include "jit/templates.hpp"
#include "util/expected.hpp"
#include "warmup/campaign/runner.hpp"
#include "warmup/planning/plan.hpp"

namespace cubinet::warmup {

// Where kernels were loaded, run and checked.
struct Executed {
  std::string device;  // its name
  std::string driver;  // the driver's version

  friend bool operator==(const Executed&, const Executed&) = default;
};

// What a warmup was asked for, and all else that its kernels depend on.
struct Subject {
  // Distinct, ascending by type, layout, N, K, groups and M; N, K and groups are 0 where the generic kernels alone were
  // asked for. Ranges of one problem neither overlap nor touch.
  std::vector<ProblemRange> problems;
  std::string architecture;
  std::int32_t num_sms = 0;
  std::string templates;  // SHA-256 over the names and digests of all template files
  std::optional<Executed> executed;

  friend bool operator==(const Subject&, const Subject&) = default;
};

Subject subject_of(const PlanRequest& request, std::optional<Executed> executed = std::nullopt);

// SHA-256 over the names and digests of the files.
std::string templates_digest(const std::vector<jit::TemplateFile>& files = jit::template_files());

// Canonical: a JSON object with sorted keys and no white space.
std::string to_json(const Subject& subject);
// Nothing for a text that to_json does not write.
std::optional<Subject> subject_from_json(std::string_view json);

// A record of a cabinet, as far as this build can read it.
struct CoverageRecord {
  Subject subject;
  bool current = false;  // made from the templates of this build
  std::size_t kernels = 0;
  jit::Makers compilers;      // of those of its kernels that are among the entries
  std::int64_t recorded = 0;  // seconds since 1970
};

// Those whose subject this build can read, in the same order. `entries` are the cabinet's.
std::vector<CoverageRecord> read_records(const std::vector<cache::Coverage>& coverages,
                                         const std::vector<cache::Entry>& entries);

// Whether who has what `recorded` takes has what `wanted` takes: its problems, each with all of its M, are among the
// recorded ones, all else is the same, and where execution is wanted the recorded one was on a device of that name.
bool covers(const Subject& recorded, const Subject& wanted);

// The keys of a plan's kernels, in the order of the plan.
std::vector<cache::Key> keys_of(const Plan& plan);

// Whether the cabinet is known to be complete for `wanted`, of which `plan` is the plan: a recorded subject covers it,
// every kernel of the plan is among the recorded entries, and every recorded entry is there and whole at this moment. A
// record of which an entry is not is dropped, as far as the cabinet can be written. Then: what made the plan's kernels.
std::optional<jit::Makers> find_coverage(cache::Cabinet& cabinet, const Plan& plan, const Subject& wanted);

// As warm() on a cabinet for which find_coverage holds, and accepted compilers made all of the plan's kernels: every
// kernel is a hit and recorded as such. Nothing where that does not hold. Opens no compiler.
std::optional<Report> warm_from_coverage(cache::Cabinet& cabinet, const Plan& plan, const Subject& wanted);

// Records that the cabinet is complete for `subject`, in the place of records that this one covers, if `report` says so
// of the whole plan: nothing failed or remains, and all that was compiled is stored. False when it does not say so. An
// error: it does, and the cabinet takes no record, for this reason.
Expected<bool> record_coverage(cache::Cabinet& cabinet, const Plan& plan, const Subject& subject, const Report& report);

}  // namespace cubinet::warmup
