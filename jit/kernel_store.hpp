// The kernels that a process has on one device: each found or compiled, and loaded, once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cache/cabinet.hpp"
#include "cubinet/cubinet.hpp"
#include "jit/compiler.hpp"
#include "jit/driver.hpp"
#include "jit/kernel_spec.hpp"
#include "jit/miss.hpp"
#include "jit/provide.hpp"
#include "jit/quantization_kernels.hpp"
#include "util/background.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// What an engine works with.
struct EngineParts {
  std::shared_ptr<const DeviceContext> device;
  std::optional<cache::Cabinet> cabinet;
  std::string cabinet_problem;  // why there is no cabinet, or not every layer, though it was asked for
  std::function<Expected<std::unique_ptr<Compiler>>()> open_compiler;  // called when something must be compiled
  std::string expected_nvrtc;  // version whose kernels the cabinet is asked for before a compiler is opened
  int jobs = 0;                // compile threads; 0: see jobs.hpp
  MissPolicy miss = MissPolicy::compile;
};

// Thread-safe: one load() at a time does the work, so that no kernel is compiled or loaded twice.
class KernelStore final : public MissHandler {
 public:
  explicit KernelStore(EngineParts parts);

  // What became of the kernels that were asked for.
  struct Loaded {
    std::int64_t found = 0;  // in the cabinet, or loaded before
    std::int64_t compiled = 0;
    std::vector<KernelSpec> missing;  // only where nothing may be compiled; they are not loaded
    std::string warning;              // why the cabinet was not used, or new kernels were not stored
  };

  // Loads those of `specs` that are not loaded yet. What the cabinet lacks is compiled, or else is `missing`. Fails as
  // a whole. Precondition: `specs` are distinct.
  Expected<Loaded> load(const std::vector<KernelSpec>& specs, bool may_compile);

  // Null when it is not loaded.
  [[nodiscard]] std::shared_ptr<const LoadedKernel> find_loaded(const KernelSpec& spec) const;
  [[nodiscard]] std::shared_ptr<const QuantizationKernels> quantization() const;

  // Fills in what is loaded, and the generic kernel if that is. Nobody else uses the table yet.
  void fill(KernelTable& table, const KernelSpec& generic) const;

  // Has the row's kernel made by a thread of its own, once, and put into the table.
  void make_in_background(const std::shared_ptr<KernelTable>& table, std::size_t row);
  [[nodiscard]] BackgroundReport background() const;
  // Until nothing is being made, at most `patience`. False when something still is.
  [[nodiscard]] bool wait_for_background(std::chrono::milliseconds patience) const;

  Expected<const LaunchableKernel*> on_miss(const std::shared_ptr<KernelTable>& table, std::size_t row, std::int64_t m,
                                            CUstream stream) override;

  [[nodiscard]] const std::shared_ptr<const DeviceContext>& device() const { return parts_.device; }
  [[nodiscard]] MissPolicy miss_policy() const { return parts_.miss; }
  [[nodiscard]] const std::string& nvrtc_version() const { return parts_.expected_nvrtc; }
  [[nodiscard]] std::string cache_root() const;

 private:
  Compiler& compiler();
  [[nodiscard]] bool is_loaded(const KernelSpec& spec) const;
  Expected<std::vector<std::optional<Provided>>> provide_all(const std::vector<KernelSpec>& specs, bool may_compile);
  Expected<void> load_one(const KernelSpec& spec, const cache::Object& object);
  Expected<void> load_into(KernelTable& table, std::size_t row, bool may_compile);
  void make(KernelTable& table, std::size_t row) noexcept;

  EngineParts parts_;
  mutable std::mutex mutex_;  // guards the next four, the cabinet, and set() of every table
  std::unique_ptr<Compiler> compiler_;
  std::unique_ptr<Compiler> absent_;
  std::map<KernelSpec, std::shared_ptr<const LoadedKernel>> loaded_;
  std::shared_ptr<const QuantizationKernels> quantization_;

  mutable std::mutex report_mutex_;
  mutable std::condition_variable settled_;
  BackgroundReport report_;
  util::BackgroundThread background_;  // last: it ends before what it uses
};

}  // namespace cubinet::jit
