#include "jit/engine.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "cubinet/scales.hpp"
#include "jit/families/registry.hpp"
#include "jit/problems.hpp"
#include "util/clock.hpp"

namespace cubinet::jit {
namespace {

Expected<void> check_range(MRange range) {
  if (range.first >= 1 && range.first <= range.last) return {};
  return fail(ErrorCode::invalid_argument, "the range of M " + std::to_string(range.first) + ".." +
                                               std::to_string(range.last) +
                                               " is empty; it must start at 1 or above and not end before it starts");
}

Expected<void> check(const std::vector<ProblemRange>& problems, const Target& target, const Registry& families) {
  for (const ProblemRange& wanted : problems) {
    if (auto runs = families.can_run(wanted.problem, target); !runs) return runs;
    if (auto valid = check_range(wanted.range); !valid) return valid;
  }
  return {};
}

void sort_distinct(std::vector<KernelSpec>& specs) {
  std::sort(specs.begin(), specs.end());
  specs.erase(std::unique(specs.begin(), specs.end()), specs.end());
}

std::vector<KernelSpec> selected_specs(const ProblemRange& wanted, const Target& target, const Registry& families) {
  std::vector<KernelSpec> specs;
  for (Selection& selection : families.selections(wanted.problem, wanted.range, target)) {
    specs.push_back(std::move(selection.spec));
  }
  return specs;
}

// The companion kernels of all problems, sorted.
std::vector<KernelSpec> companion_specs(const std::vector<ProblemRange>& problems, const Target& target,
                                        const Registry& families) {
  std::vector<KernelSpec> specs;
  for (const ProblemRange& wanted : problems) {
    for (KernelSpec& spec : families.companions(wanted.problem, target)) specs.push_back(std::move(spec));
  }
  sort_distinct(specs);
  return specs;
}

// Every kernel that the problems select over their ranges, and the companion kernels; sorted.
std::vector<KernelSpec> specs_of(const std::vector<ProblemRange>& problems, const Target& target,
                                 const Registry& families) {
  std::vector<KernelSpec> specs = companion_specs(problems, target, families);
  for (const ProblemRange& wanted : problems) {
    for (KernelSpec& spec : selected_specs(wanted, target, families)) specs.push_back(std::move(spec));
  }
  sort_distinct(specs);
  return specs;
}

// Covers every M that a launch may have; only the rows of the prepared range are loaded.
std::shared_ptr<KernelTable> table_of(const Problem& problem, const Target& target, const Registry& families) {
  std::vector<KernelTable::Row> rows;
  for (Selection& selection : families.selections(problem, {1, std::numeric_limits<std::int64_t>::max()}, target)) {
    rows.push_back({selection.range, std::move(selection.spec)});
  }
  return std::make_shared<KernelTable>(problem, std::move(rows));
}

// The smallest problem whose plan holds the quantization kernels: one of the first data type with scales.
Problem smallest_scaled_problem() {
  const auto types = data_types();
  const auto scaled =
      std::find_if(types.begin(), types.end(), [](const DataTypeFacts& facts) { return has_scales(facts.type); });
  return {scaled->type, Layout::masked, scale_block(), scale_block(), 1};
}

bool touch(MRange a, MRange b) { return a.first <= b.last && b.first <= a.last; }

// The first problem that needs `spec`.
const ProblemRange& first_user_of(const KernelSpec& spec, const std::vector<ProblemRange>& problems,
                                  const Target& target, const Registry& families) {
  const auto asks = [&](const ProblemRange& wanted) {
    const auto specs = specs_of({wanted}, target, families);
    return std::binary_search(specs.begin(), specs.end(), spec);
  };
  return *std::find_if(problems.begin(), problems.end(), asks);
}

void add(CompilerCounts& compilers, const CompilerCounts& more) {
  for (const auto& [compiler, kernels] : more) compilers[compiler] += kernels;
}

// Adds the result of a second load, of kernels that the first one missed. `specs` are sorted.
void add(KernelStore::Loaded& loaded, const KernelStore::Loaded& more, const std::vector<KernelSpec>& specs) {
  loaded.found += more.found;
  loaded.compiled += more.compiled;
  if (loaded.warning.empty()) loaded.warning = more.warning;
  add(loaded.compilers, more.compilers);
  std::erase_if(loaded.missing,
                [&](const KernelSpec& spec) { return std::binary_search(specs.begin(), specs.end(), spec); });
}

// Names the first missing kernel with its key and the command that warms it; the detail names all of them.
Error refuse(const KernelStore& store, const std::vector<KernelSpec>& missing,
             const std::vector<ProblemRange>& problems, const Target& target) {
  std::vector<Error> errors;
  for (const KernelSpec& spec : missing) {
    const ProblemRange& asker = first_user_of(spec, problems, target, store.families());
    errors.push_back(store.refusal(spec, asker.problem, asker.range));
  }
  Error error = errors.front();
  if (errors.size() > 1) error.message = fmt::format("{} kernels are missing: {}", errors.size(), error.message);
  for (const Error& each : errors) error.detail += each.message + "\n";
  return error;
}

// The warning, followed by remarks on the compilers of the kernels.
std::string with_remarks(std::string warning, const KernelStore::Loaded& loaded, const Driver& driver) {
  for (const std::string& remark :
       {unaccepted_text(loaded.compilers), unusable_text(loaded.unusable, driver.version())}) {
    if (!remark.empty()) warning += (warning.empty() ? "" : "; ") + remark;
  }
  return warning;
}

StartReport report_of(KernelStore::Loaded loaded, util::Moment start, const Driver& driver) {
  StartReport report;
  report.loaded = loaded.found + loaded.compiled;
  report.missing = loaded.compiled + static_cast<std::int64_t>(loaded.missing.size());
  report.compiled = loaded.compiled;
  report.milliseconds = util::milliseconds_since(start);
  report.warning = with_remarks(std::move(loaded.warning), loaded, driver);
  report.compilers = compilers_text(loaded.compilers);
  return report;
}

}  // namespace

Expected<KernelStore::Loaded> Engine::load(const std::vector<ProblemRange>& problems, const Target& target) {
  const MissPolicy policy = store_->miss_policy();
  auto loaded = store_->load(specs_of(problems, target, store_->families()), policy);
  if (!loaded) return loaded;
  if (policy == MissPolicy::error && !loaded->missing.empty()) {
    return fail(refuse(*store_, loaded->missing, problems, target));
  }
  if (policy == MissPolicy::fallback && !loaded->missing.empty()) {
    if (auto done = load_stand_ins(problems, target, *loaded); !done) return propagate(done);
  }
  return loaded;
}

// Loads the generic kernels that the cabinet has; they stand in for missing kernels. If a problem then has no kernel at
// all, its kernels are compiled. A missing companion kernel is compiled, too, because no other kernel can stand in for
// it.
Expected<void> Engine::load_stand_ins(const std::vector<ProblemRange>& problems, const Target& target,
                                      KernelStore::Loaded& loaded) {
  std::vector<KernelSpec> generic;
  for (const ProblemRange& wanted : problems) generic.push_back(store_->families().generic(wanted.problem, target));
  sort_distinct(generic);
  const auto stand_ins = store_->load(generic, MissPolicy::fallback);
  if (!stand_ins) return propagate(stand_ins);
  add(loaded.compilers, stand_ins->compilers);
  if (auto done = compile_unserved(problems, target, loaded); !done) return done;
  compile_companions(problems, target, loaded);
  return {};
}

Expected<void> Engine::compile_unserved(const std::vector<ProblemRange>& problems, const Target& target,
                                        KernelStore::Loaded& loaded) {
  const auto is_ready = [&](const KernelSpec& spec) { return store_->is_loaded(spec); };
  std::vector<KernelSpec> unserved;
  for (const ProblemRange& wanted : problems) {
    auto specs = selected_specs(wanted, target, store_->families());
    const bool served = is_ready(store_->families().generic(wanted.problem, target)) ||
                        std::any_of(specs.begin(), specs.end(), is_ready);
    if (!served) std::move(specs.begin(), specs.end(), std::back_inserter(unserved));
  }
  sort_distinct(unserved);
  const auto made = store_->load(unserved, MissPolicy::compile);
  if (!made) return propagate(made);
  add(loaded, *made, unserved);
  return {};
}

// A failure is only a warning: a caller that passes column-major scales needs no companion kernel.
void Engine::compile_companions(const std::vector<ProblemRange>& problems, const Target& target,
                                KernelStore::Loaded& loaded) {
  std::vector<KernelSpec> missing = companion_specs(problems, target, store_->families());
  std::erase_if(missing, [&](const KernelSpec& spec) {
    return std::find(loaded.missing.begin(), loaded.missing.end(), spec) == loaded.missing.end();
  });
  if (missing.empty()) return;
  const auto made = store_->load(missing, MissPolicy::compile);
  if (made) {
    add(loaded, *made, missing);
  } else if (loaded.warning.empty()) {
    loaded.warning = made.error().message;
  }
}

// The companion that transposes scales; null if the problem has none, or it could not be loaded.
std::shared_ptr<const QuantizationKernels> Engine::quantization_for(const Problem& problem,
                                                                    const Target& target) const {
  for (const KernelSpec& spec : store_->families().companions(problem, target)) {
    if (auto kernels = store_->find_loaded<QuantizationKernels>(spec)) return kernels;
  }
  return nullptr;
}

PreparedGemm Engine::prepare_one(const ProblemRange& wanted, const Target& target) {
  auto table = table_of(wanted.problem, target, store_->families());
  store_->fill(*table, store_->families().generic(wanted.problem, target));
  for (std::size_t row = 0; row < table->size(); ++row) {
    if (table->is_loaded(row) || !touch(table->row(row).range, wanted.range)) continue;
    table->find_stand_in(row);
    store_->make_in_background(table, row);
  }
  return {store_->device(), wanted.range, std::move(table), quantization_for(wanted.problem, target), store_};
}

Expected<std::vector<PreparedGemm>> Engine::prepare(const std::vector<ProblemRange>& problems, StartReport* report) {
  const util::Moment start = util::now();
  const auto target = this->target();
  if (auto sound = check(problems, target.value_or(Target{}), store_->families()); !sound) return propagate(sound);
  if (!target) return propagate(target);
  store_->note_asked(problems, target->architecture);
  auto loaded = load(problems, *target);
  if (!loaded) return propagate(loaded);

  std::vector<PreparedGemm> prepared;
  for (const ProblemRange& wanted : problems) prepared.push_back(prepare_one(wanted, *target));
  if (report != nullptr) *report = report_of(*std::move(loaded), start, store_->device()->driver());
  return prepared;
}

Expected<PreparedGemm> Engine::prepare(const Problem& problem, MRange range, StartReport* report) {
  auto prepared = prepare({{problem, range}}, report);
  if (!prepared) return propagate(prepared);
  return std::move(prepared->front());
}

Expected<PreparedQuantizer> Engine::prepare_quantizer(StartReport* report) {
  const util::Moment start = util::now();
  const auto target = this->target();
  if (!target) return propagate(target);
  const Family* family = store_->families().quantization(target->architecture);
  if (family == nullptr) return fail(ErrorCode::unsupported, "there is no quantizer for " + target->architecture);
  const KernelSpec spec = family->spec();
  auto loaded = store_->load({spec}, without_stand_in(store_->miss_policy()));
  if (!loaded) return propagate(loaded);
  if (!loaded->missing.empty()) {
    return fail(store_->refusal(spec, smallest_scaled_problem(), {1, 1}));
  }
  if (report != nullptr) *report = report_of(*std::move(loaded), start, store_->device()->driver());
  return PreparedQuantizer(store_->device(), store_->find_loaded<QuantizationKernels>(spec));
}

}  // namespace cubinet::jit
