#include "jit/kernel_store.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "jit/jobs.hpp"
#include "util/machine.hpp"
#include "util/threads.hpp"

namespace cubinet::jit {
namespace {

constexpr int kMaxReaders = 4;  // threads that read and verify entries; further threads cost more than they save

}  // namespace

class KernelStore::MakeLock {
 public:
  MakeLock(KernelStore& store, const KernelSpec& spec) : store_(store), spec_(spec) {
    std::unique_lock lock(store_.mutex_);
    store_.made_.wait(lock, [&] { return !store_.in_work_.contains(spec_); });
    store_.in_work_.insert(spec_);
  }
  ~MakeLock() {
    {
      const std::lock_guard lock(store_.mutex_);
      store_.in_work_.erase(spec_);
    }
    store_.made_.notify_all();
  }
  MakeLock(const MakeLock&) = delete;
  MakeLock& operator=(const MakeLock&) = delete;

 private:
  KernelStore& store_;
  const KernelSpec& spec_;
};

KernelStore::KernelStore(EngineParts parts) : parts_(std::move(parts)), usage_(cabinet(), background_) {}

KernelStore::~KernelStore() { usage_.flush(); }

// Opens the compiler at the first call. If that fails, the next call tries again: a compiler may have been installed or
// memory freed in between.
std::shared_ptr<Compiler> KernelStore::compiler() {
  const std::lock_guard lock(mutex_);
  if (compiler_ != nullptr) return compiler_;
  const auto room = parts_.jobs > 0 ? Expected<void>() : check_memory(parts_.memory_rooms());
  auto opened = room.and_then(parts_.open_compiler);
  if (!opened) return std::make_shared<AbsentCompiler>(std::move(opened.error()));
  compiler_ = std::move(*opened);
  return compiler_;
}

// Releases the resources of the compiler. An engine compiles at its start and at a miss, and keeps none in between.
void KernelStore::release_resources() {
  std::shared_ptr<Compiler> compiler;
  {
    const std::lock_guard lock(mutex_);
    compiler = compiler_;
  }
  if (compiler != nullptr) compiler->release_resources();
}

std::shared_ptr<const Kernel> KernelStore::find_kernel(const KernelSpec& spec) const {
  const std::lock_guard lock(mutex_);
  const auto found = loaded_.find(spec);
  return found == loaded_.end() ? nullptr : found->second.kernel;
}

std::vector<KernelSpec> KernelStore::not_loaded(const std::vector<KernelSpec>& specs) const {
  const std::lock_guard lock(mutex_);
  std::vector<KernelSpec> wanted;
  std::copy_if(specs.begin(), specs.end(), std::back_inserter(wanted),
               [&](const KernelSpec& spec) { return !loaded_.contains(spec); });
  return wanted;
}

Expected<void> KernelStore::load_one(const KernelSpec& spec, const cache::Object& object) {
  const std::lock_guard lock(mutex_);
  if (loaded_.contains(spec)) return {};
  const CaptureSafe safe(parts_.device->driver());
  auto kernel = spec.family->load(parts_.device, spec, object.payload);
  if (!kernel) return propagate(kernel);
  loaded_[spec] = {std::move(*kernel), object.facts.compiler};
  return {};
}

// Adds kernels that the cabinet has to `found`, and returns the others.
std::vector<KernelSpec> KernelStore::find_all(const std::vector<KernelSpec>& specs, FoundKernels& found) const {
  if (!parts_.cabinet) return specs;
  std::vector<std::optional<Provided>> provided(specs.size());
  util::parallel_for(specs.size(), kMaxReaders, [&](std::size_t i) noexcept {
    try {
      provided[i] = find(specs[i], *parts_.cabinet);
    } catch (const std::exception&) {  // out of memory counts as a miss
    }
  });
  std::vector<KernelSpec> others;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (provided[i]) {
      found.emplace_back(specs[i], std::move(*provided[i]));
    } else {
      others.push_back(specs[i]);
    }
  }
  return others;
}

// The compilers of missing kernels that the cabinet does have, but from a compiler that is too new for the driver.
CompilerCounts KernelStore::unusable_of(const std::vector<KernelSpec>& missing) const {
  CompilerCounts compilers;
  if (!parts_.cabinet) return compilers;
  for (const KernelSpec& spec : missing) {
    const std::string record = record_of(spec);
    if (const auto object = parts_.cabinet->find_any(key_of(record), record)) ++compilers[object->facts.compiler];
  }
  return compilers;
}

CompilerCounts KernelStore::compilers_of(const std::vector<KernelSpec>& specs) const {
  const std::lock_guard lock(mutex_);
  CompilerCounts compilers;
  for (const KernelSpec& spec : specs) {
    if (const auto found = loaded_.find(spec); found != loaded_.end()) ++compilers[found->second.compiler];
  }
  return compilers;
}

Expected<void> KernelStore::load_all(const FoundKernels& found, Uses& uses) {
  for (const auto& [spec, provided] : found) {
    if (auto loaded = load_one(spec, provided.object); !loaded) return loaded;
    uses.found.push_back(provided.key);
  }
  return {};
}

Expected<KernelStore::Made> KernelStore::make_one(const KernelSpec& spec) noexcept {
  return without_exceptions(ErrorCode::compile_failed, [&]() -> Expected<Made> {
    const MakeLock lock(*this, spec);
    if (not_loaded({spec}).empty()) return Made{};  // another thread loaded it while this one waited
    auto provided = provide(spec, *compiler(), cabinet());
    if (!provided) return propagate(provided);
    if (auto loaded = load_one(spec, provided->object); !loaded) return propagate(loaded);
    return Made{provided->key, provided->compiled, std::move(provided->store_problem)};
  });
}

Expected<void> KernelStore::make_all(const std::vector<KernelSpec>& specs, Loaded& loaded, Uses& uses) {
  const int jobs = parts_.jobs > 0 ? parts_.jobs : choose_jobs(util::usable_cores(), parts_.memory_rooms()).count;
  std::vector<Expected<Made>> made(specs.size());
  util::parallel_for(specs.size(), jobs, [&](std::size_t i) { made[i] = make_one(specs[i]); });
  for (Expected<Made>& one : made) {
    if (!one) return propagate(one);
    if (one->compiled) ++loaded.compiled;
    if (one->key) (one->compiled ? uses.compiled : uses.found).push_back(*one->key);
    if (loaded.warning.empty()) loaded.warning = std::move(one->store_problem);
  }
  if (loaded.compiled > 0 && loaded.warning.empty()) loaded.warning = compiler()->remark();
  return {};
}

Expected<KernelStore::Loaded> KernelStore::load(const std::vector<KernelSpec>& specs, MissPolicy miss) {
  Uses uses;
  auto loaded = load(specs, miss, uses);
  release_resources();
  if (loaded && parts_.miss == MissPolicy::error) {
    for (const KernelSpec& spec : loaded->missing) uses.refused.push_back(key_of(spec));
  }
  usage_.note(uses);
  return loaded;
}

Expected<KernelStore::Loaded> KernelStore::load(const std::vector<KernelSpec>& specs, MissPolicy miss, Uses& uses) {
  Loaded result;
  result.warning = parts_.cabinet_problem;
  FoundKernels found;
  const std::int64_t damaged_before = damaged();
  auto missing = find_all(not_loaded(specs), found);
  result.unusable = unusable_of(missing);
  if (const std::int64_t found_damaged = damaged() - damaged_before; found_damaged > 0) {
    if (!result.warning.empty()) result.warning += "; ";
    result.warning += fmt::format("{} damaged {} set aside in quarantine/ of {}", found_damaged,
                                  found_damaged == 1 ? "entry was" : "entries were", parts_.cabinet->root().native());
  }
  if (missing.empty() || miss != MissPolicy::error) {
    if (auto loaded = load_all(found, uses); !loaded) return propagate(loaded);
  }
  if (miss == MissPolicy::compile && !missing.empty()) {
    if (auto made = make_all(missing, result, uses); !made) return propagate(made);
    missing.clear();
  }
  result.missing = std::move(missing);
  result.compilers = compilers_of(specs);
  result.found = static_cast<std::int64_t>(specs.size() - result.missing.size()) - result.compiled;
  return result;
}

void KernelStore::fill(KernelTable& table, const KernelSpec& generic) const {
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (auto kernel = find_loaded<GemmKernel>(table.row(row).spec)) table.set(row, std::move(kernel));
  }
  if (auto kernel = find_loaded<GemmKernel>(generic)) table.keep_generic(std::move(kernel));
}

void KernelStore::set_row(KernelTable& table, std::size_t row) {
  auto kernel = find_loaded<GemmKernel>(table.row(row).spec);
  const std::lock_guard lock(mutex_);
  if (kernel != nullptr && !table.is_loaded(row)) table.set(row, std::move(kernel));
}

void KernelStore::make_in_background(const std::shared_ptr<KernelTable>& table, std::size_t row) {
  if (!table->claim(row)) return;
  const KernelSpec& spec = table->row(row).spec;
  const std::lock_guard lock(report_mutex_);
  if (failed_.contains(spec)) return;
  std::vector<Waiting>& waiting = waiting_[spec];
  waiting.push_back({table, row});
  if (waiting.size() > 1) return;
  ++report_.pending;
  if (background_.post([this, spec] { make_for_waiting(spec); })) return;
  waiting_.erase(spec);
  failed_.insert(spec);
  --report_.pending;
  ++report_.failed;
  report_.last_failure = "could not start a thread";
}

void KernelStore::make_for_waiting(const KernelSpec& spec) noexcept {
  const Expected<Made> made = make_one(spec);
  if (made && made->key) usage_.note(*made->key, made->compiled);
  std::vector<Waiting> waiting;
  {
    const std::lock_guard lock(report_mutex_);
    waiting = std::move(waiting_[spec]);
    waiting_.erase(spec);
  }
  if (made) {
    for (const Waiting& one : waiting) set_row(*one.table, one.row);
  }
  bool over = false;
  {
    const std::lock_guard lock(report_mutex_);
    over = --report_.pending == 0;
    if (made) {
      ++report_.ready;
    } else {
      failed_.insert(spec);
      ++report_.failed;
      report_.last_failure = made.error().message;
    }
  }
  settled_.notify_all();
  if (over) release_resources();
}

BackgroundReport KernelStore::background() const {
  const std::lock_guard lock(report_mutex_);
  return report_;
}

bool KernelStore::wait_for_background(std::chrono::milliseconds patience) const {
  std::unique_lock lock(report_mutex_);
  return settled_.wait_for(lock, patience, [this] { return report_.pending == 0; });
}

Error KernelStore::refusal(const KernelSpec& spec, const Problem& problem, MRange range) const {
  const std::string command = warm_command(problem, range, spec.architecture, parts_.cache_root);
  Error error = missing_kernel(spec, command);
  const std::string unusable = unusable_text(unusable_of({spec}), parts_.device->driver().version());
  if (!unusable.empty()) error.message = describe(spec) + ": " + unusable + "; " + error.message;
  return error;
}

Expected<const GemmKernel*> KernelStore::on_miss(const std::shared_ptr<KernelTable>& table, std::size_t row,
                                                 std::int64_t m, CUstream stream) {
  if (parts_.miss == MissPolicy::fallback) {
    if (const GemmKernel* other = table->find_stand_in(row)) {
      make_in_background(table, row);
      note_asked({{table->problem(), table->row(row).range}}, table->row(row).spec.architecture);
      return other;
    }
  }
  const KernelSpec& spec = table->row(row).spec;
  const auto capturing = is_capturing(parts_.device->driver(), stream);
  if (!capturing) return propagate(capturing);
  if (*capturing) {
    return fail(ErrorCode::capturing, describe(spec) + " for M = " + std::to_string(m) +
                                          " is not loaded, and nothing can be loaded while the stream is being "
                                          "captured; prepare the problem for a range that holds this M before");
  }
  note_asked({{table->problem(), table->row(row).range}}, spec.architecture);
  const auto loaded = load({spec}, without_stand_in(parts_.miss));
  if (!loaded) return propagate(loaded);
  set_row(*table, row);
  if (const GemmKernel* kernel = table->ready(row)) return kernel;
  return fail(refusal(spec, table->problem(), {m, m}));
}

}  // namespace cubinet::jit
