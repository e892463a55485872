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
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cache/cabinet.hpp"
#include "cubinet/cubinet.hpp"
#include "jit/accepted_compilers.hpp"
#include "jit/asked_problems.hpp"
#include "jit/compiler.hpp"
#include "jit/driver.hpp"
#include "jit/kernel_spec.hpp"
#include "jit/miss.hpp"
#include "jit/provide.hpp"
#include "jit/quantization_kernels.hpp"
#include "util/expected.hpp"
#include "util/machine.hpp"
#include "util/threads.hpp"

namespace cubinet::jit {

// What an engine works with.
struct EngineParts {
  std::shared_ptr<const DeviceContext> device;
  std::optional<cache::Cabinet> cabinet;
  std::string cache_root;       // the first root as it was asked for, for commands in messages; may be empty
  std::string cabinet_problem;  // why there is no cabinet, or not every layer, though it was asked for
  std::function<Expected<std::unique_ptr<Compiler>>()> open_compiler;  // called when something must be compiled
  int jobs = 0;                                                        // compile threads; 0: see jobs.hpp
  MissPolicy miss = MissPolicy::compile;
  std::function<std::vector<util::MemoryRoom>()> memory_rooms = [] { return util::memory_rooms(); };
};

// The policy where nothing can stand in for what is missing.
constexpr MissPolicy without_spares(MissPolicy miss) {
  return miss == MissPolicy::error ? MissPolicy::error : MissPolicy::compile;
}

// Thread-safe. Nobody waits for a compilation but those who asked for that kernel.
class KernelStore final : public MissHandler {
 public:
  explicit KernelStore(EngineParts parts);
  // Records the uses and the problems that its thread has not.
  ~KernelStore() override;

  // Has its thread record in the cabinet that these were asked for, over these ranges of M. What was noted before costs
  // a look-up in memory; a cabinet that cannot be written is left alone.
  void note_asked(const std::vector<ProblemRange>& problems, const std::string& architecture) noexcept;

  // What became of the kernels that were asked for.
  struct Loaded {
    std::int64_t found = 0;  // in the cabinet, or loaded before
    std::int64_t compiled = 0;
    std::vector<KernelSpec> missing;  // only where nothing may be compiled; they are not loaded
    Makers compilers;                 // of those that are loaded
    Makers unusable;                  // of those that the cabinet has and this driver does not load
    std::string warning;              // why the cabinet was not used, or new kernels were not stored
  };

  // Loads those of `specs` that are not loaded yet. What the cabinet lacks is compiled (policy `compile`), or else is
  // `missing`; with `error` nothing is loaded then. One that is being made by another thread is waited for. On an error
  // what could be loaded stays loaded. Precondition: `specs` are distinct.
  Expected<Loaded> load(const std::vector<KernelSpec>& specs, MissPolicy miss);

  // Null when it is not loaded.
  [[nodiscard]] std::shared_ptr<const LoadedKernel> find_loaded(const KernelSpec& spec) const;
  [[nodiscard]] std::shared_ptr<const QuantizationKernels> quantization() const;

  // Fills in what is loaded, and the generic kernel if that is. Nobody else uses the table yet.
  void fill(KernelTable& table, const KernelSpec& generic) const;

  // Has the row's kernel made by a thread of its own and put into the table. A kernel that several rows wait for is
  // made once, and one that failed is not tried again.
  void make_in_background(const std::shared_ptr<KernelTable>& table, std::size_t row);
  [[nodiscard]] BackgroundReport background() const;
  // Until nothing is being made, at most `patience`. False when something still is.
  [[nodiscard]] bool wait_for_background(std::chrono::milliseconds patience) const;

  Expected<const LaunchableKernel*> on_miss(const std::shared_ptr<KernelTable>& table, std::size_t row, std::int64_t m,
                                            CUstream stream) override;

  // not_prepared, for a kernel that a problem selects over a range of M.
  [[nodiscard]] Error refusal(const KernelSpec& spec, const Problem& problem, MRange range) const;

  [[nodiscard]] const std::shared_ptr<const DeviceContext>& device() const { return parts_.device; }
  [[nodiscard]] MissPolicy miss_policy() const { return parts_.miss; }

 private:
  // That this thread makes a kernel: no other does while it lives.
  class Turn;
  struct Made {
    std::optional<cache::Key> key;  // of what was loaded; nothing when it was loaded before
    bool compiled = false;
    std::string store_problem;
  };
  using Finds = std::vector<std::pair<KernelSpec, Provided>>;
  // What the cabinet is to be told of a load.
  struct Uses {
    std::vector<cache::Key> found;
    std::vector<cache::Key> compiled;
    std::vector<cache::Key> refused;
  };
  struct Waiting {
    std::shared_ptr<KernelTable> table;
    std::size_t row;
  };

  // How many damaged entries look-ups have set aside.
  [[nodiscard]] std::int64_t damaged() const { return parts_.cabinet ? parts_.cabinet->set_aside() : 0; }
  [[nodiscard]] cache::Cabinet* cabinet() { return parts_.cabinet ? &*parts_.cabinet : nullptr; }
  std::shared_ptr<Compiler> compiler();
  void rest();
  [[nodiscard]] bool is_loaded(const KernelSpec& spec) const;
  [[nodiscard]] std::vector<KernelSpec> not_loaded(const std::vector<KernelSpec>& specs) const;
  std::vector<KernelSpec> find_all(const std::vector<KernelSpec>& specs, Finds& finds) const;
  [[nodiscard]] Makers unusable_of(const std::vector<KernelSpec>& missing) const;
  [[nodiscard]] Makers compilers_of(const std::vector<KernelSpec>& specs) const;
  Expected<Loaded> load(const std::vector<KernelSpec>& specs, MissPolicy miss, Uses& uses);
  Expected<void> load_all(const Finds& finds, Uses& uses);
  Expected<void> make_all(const std::vector<KernelSpec>& specs, Loaded& loaded, Uses& uses);
  static void note(const Made& made, Uses& uses);
  void report(const Uses& uses);
  void report(const Made& made) noexcept;
  void record_uses() noexcept;
  void record_asked() noexcept;
  Expected<Made> make_one(const KernelSpec& spec) noexcept;
  Expected<void> load_one(const KernelSpec& spec, const cache::Object& object);
  void set_row(KernelTable& table, std::size_t row);
  void make_for_all(const KernelSpec& spec) noexcept;

  EngineParts parts_;
  mutable std::mutex mutex_;  // guards the next six, and set() of every table; never held over a compilation
  std::condition_variable made_;
  std::set<KernelSpec> in_work_;
  std::shared_ptr<Compiler> compiler_;
  std::map<KernelSpec, std::shared_ptr<const LoadedKernel>> loaded_;
  std::shared_ptr<const QuantizationKernels> quantization_;
  std::map<KernelSpec, std::string> compilers_;  // of what is loaded

  std::mutex uses_mutex_;                // guards the next two
  std::unique_ptr<cache::Lease> lease_;  // what is loaded; null where nobody can evict it, or nothing is
  Uses uses_;                            // not yet written down

  AskedProblems asked_;

  mutable std::mutex report_mutex_;  // guards the next four
  mutable std::condition_variable settled_;
  BackgroundReport report_;
  std::map<KernelSpec, std::vector<Waiting>> waiting_;
  std::set<KernelSpec> failed_;
  util::BackgroundThread background_;  // last: it ends before what it uses
};

}  // namespace cubinet::jit
