#include "jit/kernel_store.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "jit/jobs.hpp"
#include "util/cores.hpp"
#include "util/memory.hpp"
#include "util/parallel.hpp"

namespace cubinet::jit {
namespace {

constexpr int kMostReaders = 4;  // threads that read and verify; more cost more to start than they save

bool is_capturing(const Driver& driver, CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  // The default stream answers with an error while another one is captured that waits for it.
  return driver.cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace

KernelStore::KernelStore(EngineParts parts) : parts_(std::move(parts)) {}

std::string KernelStore::cache_root() const { return parts_.cabinet ? parts_.cabinet->root().string() : std::string(); }

// A compiler that could not be opened is asked for again next time: it may have been installed meanwhile.
Compiler& KernelStore::compiler() {
  if (compiler_ != nullptr) return *compiler_;
  auto opened = parts_.open_compiler();
  if (opened) {
    compiler_ = std::move(*opened);
    return *compiler_;
  }
  absent_ = std::make_unique<AbsentCompiler>(std::move(opened.error()), parts_.expected_nvrtc);
  return *absent_;
}

// One of each, or none where the cabinet has none and nothing may be compiled.
Expected<std::vector<std::optional<Provided>>> KernelStore::provide_all(const std::vector<KernelSpec>& specs,
                                                                        bool may_compile) {
  cache::Cabinet* cabinet = parts_.cabinet ? &*parts_.cabinet : nullptr;
  std::vector<std::optional<Provided>> provided(specs.size());
  std::vector<std::size_t> missing;
  if (cabinet != nullptr) {
    util::parallel_for(specs.size(), kMostReaders, [&](std::size_t i) noexcept {
      try {
        provided[i] = find(specs[i], parts_.expected_nvrtc, *cabinet);
      } catch (const std::exception&) {  // no memory: a miss
      }
    });
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (!provided[i]) missing.push_back(i);
  }
  if (missing.empty() || !may_compile) return provided;
  Compiler& makes = compiler();
  const int jobs = parts_.jobs > 0 ? parts_.jobs : choose_jobs(util::usable_cores(), util::memory_rooms()).count;
  std::vector<Expected<Provided>> made(missing.size());
  util::parallel_for(missing.size(), jobs,
                     [&](std::size_t i) { made[i] = provide(specs[missing[i]], makes, cabinet); });
  for (std::size_t i = 0; i < missing.size(); ++i) {
    if (!made[i]) return tl::make_unexpected(std::move(made[i].error()));
    provided[missing[i]] = std::move(*made[i]);
  }
  return provided;
}

bool KernelStore::is_loaded(const KernelSpec& spec) const {
  return takes_constants(spec) ? loaded_.contains(spec) : quantization_ != nullptr;
}

// Of the families without constants an engine knows the quantisation alone.
Expected<void> KernelStore::load_one(const KernelSpec& spec, const cache::Object& object) {
  if (!takes_constants(spec)) {
    auto kernels = QuantizationKernels::load(parts_.device, object.payload, spec.architecture);
    if (!kernels) return tl::make_unexpected(std::move(kernels.error()));
    quantization_ = std::make_shared<const QuantizationKernels>(std::move(*kernels));
    return {};
  }
  auto kernel = load_kernel(parts_.device, spec, object.payload);
  if (!kernel) return tl::make_unexpected(std::move(kernel.error()));
  loaded_.emplace(spec, std::make_shared<const LoadedKernel>(std::move(*kernel)));
  return {};
}

Expected<KernelStore::Loaded> KernelStore::load(const std::vector<KernelSpec>& specs, bool may_compile) {
  const std::lock_guard lock(mutex_);
  std::vector<KernelSpec> wanted;
  std::copy_if(specs.begin(), specs.end(), std::back_inserter(wanted),
               [&](const KernelSpec& spec) { return !is_loaded(spec); });
  auto provided = provide_all(wanted, may_compile);
  if (!provided) return tl::make_unexpected(std::move(provided.error()));
  Loaded result;
  result.warning = parts_.cabinet_problem;
  const CaptureSafe safe(parts_.device->driver());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::optional<Provided>& one = (*provided)[i];
    if (!one) {
      result.missing.push_back(wanted[i]);
      continue;
    }
    if (one->compiled) ++result.compiled;
    if (result.warning.empty()) result.warning = one->store_problem;
    if (auto loaded = load_one(wanted[i], one->object); !loaded) return tl::make_unexpected(std::move(loaded.error()));
  }
  result.found = static_cast<std::int64_t>(specs.size() - result.missing.size()) - result.compiled;
  return result;
}

std::shared_ptr<const LoadedKernel> KernelStore::find_loaded(const KernelSpec& spec) const {
  const std::lock_guard lock(mutex_);
  const auto found = loaded_.find(spec);
  return found == loaded_.end() ? nullptr : found->second;
}

std::shared_ptr<const QuantizationKernels> KernelStore::quantization() const {
  const std::lock_guard lock(mutex_);
  return quantization_;
}

void KernelStore::fill(KernelTable& table, const KernelSpec& generic) const {
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (auto kernel = find_loaded(table.row(row).spec)) table.set(row, std::move(kernel));
  }
  if (auto kernel = find_loaded(generic)) table.keep_spare(std::move(kernel));
}

Expected<void> KernelStore::load_into(KernelTable& table, std::size_t row, bool may_compile) {
  const KernelSpec& spec = table.row(row).spec;
  const auto loaded = load({spec}, may_compile);
  if (!loaded) return tl::make_unexpected(loaded.error());
  auto kernel = find_loaded(spec);
  const std::lock_guard lock(mutex_);
  if (kernel != nullptr && !table.is_loaded(row)) table.set(row, std::move(kernel));
  return {};
}

void KernelStore::make_in_background(const std::shared_ptr<KernelTable>& table, std::size_t row) {
  if (!table->claim(row)) return;
  {
    const std::lock_guard lock(report_mutex_);
    ++report_.pending;
  }
  if (background_.post([this, table, row] { make(*table, row); })) return;
  const std::lock_guard lock(report_mutex_);
  --report_.pending;
  ++report_.failed;
  report_.last_failure = "the system gives no thread";
}

void KernelStore::make(KernelTable& table, std::size_t row) noexcept {
  Expected<void> made;
  try {
    made = load_into(table, row, true);
  } catch (const std::exception& exception) {  // no memory
    made = fail(ErrorCode::compile_failed, exception.what());
  }
  const std::lock_guard lock(report_mutex_);
  --report_.pending;
  if (made) {
    ++report_.ready;
  } else {
    ++report_.failed;
    report_.last_failure = std::move(made.error().message);
  }
  settled_.notify_all();
}

BackgroundReport KernelStore::background() const {
  const std::lock_guard lock(report_mutex_);
  return report_;
}

bool KernelStore::wait_for_background(std::chrono::milliseconds patience) const {
  std::unique_lock lock(report_mutex_);
  return settled_.wait_for(lock, patience, [this] { return report_.pending == 0; });
}

Expected<const LaunchableKernel*> KernelStore::on_miss(const std::shared_ptr<KernelTable>& table, std::size_t row,
                                                       std::int64_t m, CUstream stream) {
  if (parts_.miss == MissPolicy::fallback) {
    if (const LaunchableKernel* other = table->find_stand_in(row)) {
      make_in_background(table, row);
      return other;
    }
  }
  const KernelSpec& spec = table->row(row).spec;
  if (is_capturing(parts_.device->driver(), stream)) {
    return fail(ErrorCode::capturing, describe(spec) + " for M = " + std::to_string(m) +
                                          " is not loaded, and nothing can be loaded while the stream is being "
                                          "captured; prepare the problem for a range that holds this M before");
  }
  if (auto loaded = load_into(*table, row, parts_.miss != MissPolicy::error); !loaded) {
    return tl::make_unexpected(std::move(loaded.error()));
  }
  if (const LaunchableKernel* kernel = table->ready(row)) return kernel;
  return tl::make_unexpected(missing_kernel(spec, parts_.expected_nvrtc,
                                            warm_command(table->problem(), {m, m}, spec.architecture, cache_root())));
}

}  // namespace cubinet::jit
