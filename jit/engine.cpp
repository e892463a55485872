#include "jit/engine.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "jit/selector.hpp"
#include "util/clock.hpp"

namespace cubinet::jit {
namespace {

Expected<void> check_range(MRange range) {
  if (range.first >= 1 && range.first <= range.last) return {};
  return fail(ErrorCode::invalid_argument, "the range of M " + std::to_string(range.first) + ".." +
                                               std::to_string(range.last) +
                                               " is empty; it must start at 1 or above and not end before it starts");
}

Expected<void> check(const std::vector<ProblemRange>& problems) {
  for (const ProblemRange& wanted : problems) {
    if (auto runs = can_run(wanted.problem); !runs) return runs;
    if (auto valid = check_range(wanted.range); !valid) return valid;
  }
  return {};
}

Target target_of(const DeviceContext& device) { return {device.info().num_sms}; }

void sort_distinct(std::vector<KernelSpec>& specs) {
  std::sort(specs.begin(), specs.end());
  specs.erase(std::unique(specs.begin(), specs.end()), specs.end());
}

// What the problems select over their ranges, and what brings FP8 scales into the other layout.
std::vector<KernelSpec> specs_of(const std::vector<ProblemRange>& problems, const std::string& architecture,
                                 const Target& target) {
  std::vector<KernelSpec> specs;
  for (const ProblemRange& wanted : problems) {
    for (const Selection& selection : selections(wanted.problem, wanted.range, target)) {
      specs.push_back(spec_for(wanted.problem, selection.config, architecture));
    }
    if (wanted.problem.data_type == DataType::fp8) specs.push_back(quantization_spec(architecture));
  }
  sort_distinct(specs);
  return specs;
}

// A row for every M that a launch may have, though only those of the prepared range are made ready.
std::shared_ptr<KernelTable> table_of(const Problem& problem, const std::string& architecture, const Target& target) {
  std::vector<KernelTable::Row> rows;
  for (const Selection& selection : selections(problem, {1, std::numeric_limits<std::int64_t>::max()}, target)) {
    rows.push_back({selection.range, spec_for(problem, selection.config, architecture)});
  }
  return std::make_shared<KernelTable>(problem, std::move(rows));
}

bool touch(MRange a, MRange b) { return a.first <= b.last && b.first <= a.last; }

// The problem that asks for `spec`.
const ProblemRange& asker_of(const KernelSpec& spec, const std::vector<ProblemRange>& problems,
                             const std::string& architecture, const Target& target) {
  const auto asks = [&](const ProblemRange& wanted) {
    const auto specs = specs_of({wanted}, architecture, target);
    return std::binary_search(specs.begin(), specs.end(), spec);
  };
  return *std::find_if(problems.begin(), problems.end(), asks);
}

void add(Makers& makers, const Makers& more) {
  for (const auto& [compiler, kernels] : more) makers[compiler] += kernels;
}

// What a second load made of those that the first one missed; `specs` are sorted.
void add(KernelStore::Loaded& loaded, const KernelStore::Loaded& more, const std::vector<KernelSpec>& specs) {
  loaded.found += more.found;
  loaded.compiled += more.compiled;
  if (loaded.warning.empty()) loaded.warning = more.warning;
  add(loaded.compilers, more.compilers);
  std::erase_if(loaded.missing,
                [&](const KernelSpec& spec) { return std::binary_search(specs.begin(), specs.end(), spec); });
}

// The first of the missing ones by its key and command, all of them in the detail.
Error refuse(const KernelStore& store, const std::vector<KernelSpec>& missing,
             const std::vector<ProblemRange>& problems) {
  std::vector<Error> errors;
  for (const KernelSpec& spec : missing) {
    const ProblemRange& asker = asker_of(spec, problems, spec.architecture, target_of(*store.device()));
    errors.push_back(store.refusal(spec, asker.problem, asker.range));
  }
  Error error = errors.front();
  if (errors.size() > 1) error.message = fmt::format("{} kernels are missing: {}", errors.size(), error.message);
  for (const Error& each : errors) error.detail += each.message + "\n";
  return error;
}

// The warning, and what is to be said of those that made the kernels.
std::string with_remarks(std::string warning, const KernelStore::Loaded& loaded, const Driver& driver) {
  for (const std::string& remark :
       {unaccepted_text(loaded.compilers), unusable_text(loaded.unusable, driver.version())}) {
    if (!remark.empty()) warning += (warning.empty() ? "" : "; ") + remark;
  }
  return warning;
}

}  // namespace

Expected<KernelStore::Loaded> Engine::load(const std::vector<ProblemRange>& problems, const std::string& architecture) {
  const MissPolicy policy = store_->miss_policy();
  const auto specs = specs_of(problems, architecture, target_of(*store_->device()));
  auto loaded = store_->load(specs, policy);
  if (!loaded) return loaded;
  if (policy == MissPolicy::error && !loaded->missing.empty()) {
    return fail(refuse(*store_, loaded->missing, problems));
  }
  if (policy == MissPolicy::fallback && !loaded->missing.empty()) {
    if (auto spare = load_spares(problems, architecture, *loaded); !spare) return propagate(spare);
  }
  return loaded;
}

// What stands in for missing kernels: the generic ones that the cabinet has. Where it has none, a problem without any
// other kernel is compiled after all. So are the kernels that quantise, for which nothing stands in; but who passes
// scales column-major does without them.
Expected<void> Engine::load_spares(const std::vector<ProblemRange>& problems, const std::string& architecture,
                                   KernelStore::Loaded& loaded) {
  std::vector<KernelSpec> generic, at_once;
  for (const ProblemRange& wanted : problems) generic.push_back(generic_spec(wanted.problem, architecture));
  sort_distinct(generic);
  const auto spares = store_->load(generic, MissPolicy::fallback);
  if (!spares) return propagate(spares);
  add(loaded.compilers, spares->compilers);

  const auto is_ready = [&](const KernelSpec& spec) { return store_->find_loaded(spec) != nullptr; };
  for (const ProblemRange& wanted : problems) {
    const auto specs = specs_of({wanted}, architecture, target_of(*store_->device()));
    const bool served =
        is_ready(generic_spec(wanted.problem, architecture)) || std::any_of(specs.begin(), specs.end(), is_ready);
    std::copy_if(specs.begin(), specs.end(), std::back_inserter(at_once),
                 [&](const KernelSpec& spec) { return takes_constants(spec) && !served; });
  }
  sort_distinct(at_once);
  const auto made = store_->load(at_once, MissPolicy::compile);
  if (!made) return propagate(made);
  add(loaded, *made, at_once);
  const KernelSpec quantization = quantization_spec(architecture);
  if (std::find(loaded.missing.begin(), loaded.missing.end(), quantization) == loaded.missing.end()) return {};
  const auto quantizes = store_->load({quantization}, MissPolicy::compile);
  if (quantizes) {
    add(loaded, *quantizes, {quantization});
  } else if (loaded.warning.empty()) {
    loaded.warning = quantizes.error().message;
  }
  return {};
}

Expected<std::vector<PreparedGemm>> Engine::prepare(const std::vector<ProblemRange>& problems, StartReport* report) {
  const util::Moment start = util::now();
  if (auto sound = check(problems); !sound) return propagate(sound);
  const auto architecture = architecture_for(store_->device()->info());
  if (!architecture) return propagate(architecture);
  store_->note_asked(problems, *architecture);
  auto loaded = load(problems, *architecture);
  if (!loaded) return propagate(loaded);

  std::vector<PreparedGemm> prepared;
  for (const ProblemRange& wanted : problems) {
    auto table = table_of(wanted.problem, *architecture, target_of(*store_->device()));
    store_->fill(*table, generic_spec(wanted.problem, *architecture));
    for (std::size_t row = 0; row < table->size(); ++row) {
      if (table->is_loaded(row) || !touch(table->row(row).range, wanted.range)) continue;
      table->find_stand_in(row);
      store_->make_in_background(table, row);
    }
    const bool quantized = wanted.problem.data_type == DataType::fp8;
    prepared.emplace_back(store_->device(), wanted.range, std::move(table),
                          quantized ? store_->quantization() : nullptr, store_);
  }
  if (report != nullptr) {
    report->loaded = loaded->found + loaded->compiled;
    report->missing = loaded->compiled + static_cast<std::int64_t>(loaded->missing.size());
    report->compiled = loaded->compiled;
    report->milliseconds = util::milliseconds_since(start);
    report->warning = with_remarks(std::move(loaded->warning), *loaded, store_->device()->driver());
    report->compilers = makers_text(loaded->compilers);
  }
  return prepared;
}

Expected<PreparedGemm> Engine::prepare(const Problem& problem, MRange range, PrepareReport* report) {
  StartReport facts;
  auto prepared = prepare({{problem, range}}, &facts);
  if (!prepared) return propagate(prepared);
  if (report != nullptr) {
    *report = {facts.loaded - facts.compiled, facts.compiled, facts.milliseconds, std::move(facts.warning)};
  }
  return std::move(prepared->front());
}

Expected<PreparedQuantizer> Engine::prepare_quantizer(PrepareReport* report) {
  const util::Moment start = util::now();
  const auto architecture = architecture_for(store_->device()->info());
  if (!architecture) return propagate(architecture);
  const KernelSpec spec = quantization_spec(*architecture);
  auto loaded = store_->load({spec}, without_spares(store_->miss_policy()));
  if (!loaded) return propagate(loaded);
  if (!loaded->missing.empty()) {
    const Problem any{DataType::fp8, Layout::masked, scale_block(), scale_block(), 1};  // every FP8 plan holds it
    return fail(store_->refusal(spec, any, {1, 1}));
  }
  if (report != nullptr) {
    *report = {loaded->found, loaded->compiled, util::milliseconds_since(start), std::move(loaded->warning)};
  }
  return PreparedQuantizer(store_->device(), store_->quantization());
}

}  // namespace cubinet::jit
