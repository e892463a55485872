// The kernels of a process on one device. Each kernel is found or compiled once, and loaded once.
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
#include "jit/compiler.hpp"
#include "jit/driver.hpp"
#include "jit/families/registry.hpp"
#include "jit/kernel.hpp"
#include "jit/kernel_spec.hpp"
#include "jit/miss.hpp"
#include "jit/provide.hpp"
#include "jit/usage_recorder.hpp"
#include "util/expected.hpp"
#include "util/machine.hpp"
#include "util/threads.hpp"

namespace cubinet::jit {

// The parts of an engine.
struct EngineParts {
  std::shared_ptr<const DeviceContext> device;
  std::optional<cache::Cabinet> cabinet;
  std::string cache_root;       // the root as the caller named it, for commands in messages; may be empty
  std::string cabinet_problem;  // why there is no cabinet, or not every requested layer
  std::function<Expected<std::unique_ptr<Compiler>>()> open_compiler;  // called before the first compilation
  int jobs = 0;                                                        // compile threads; 0: see jobs.hpp
  MissPolicy miss = MissPolicy::compile;
  const Registry* families = &jit::families();  // outlives the engine
  std::function<std::vector<util::MemoryRoom>()> memory_rooms = [] { return util::memory_rooms(); };
};

// The parts of a service with these options. Opens the cabinet and its layers, if the options name any. If one cannot
// be opened, cabinet_problem says why, and the engine works without it.
EngineParts parts_of(const ServiceOptions& options, std::shared_ptr<const DeviceContext> device);

// The miss policy for a kernel that no other kernel can stand in for.
constexpr MissPolicy without_stand_in(MissPolicy miss) {
  return miss == MissPolicy::error ? MissPolicy::error : MissPolicy::compile;
}

// Thread-safe. A compilation blocks only the callers that asked for that kernel.
class KernelStore final : public MissHandler {
 public:
  explicit KernelStore(EngineParts parts);
  // Writes pending usage records.
  ~KernelStore() override;

  // See UsageRecorder.
  void note_asked(const std::vector<ProblemRange>& problems, const std::string& architecture) noexcept {
    usage_.note_asked(problems, architecture);
  }

  // The result of a load.
  struct Loaded {
    std::int64_t found = 0;  // in the cabinet, or loaded before
    std::int64_t compiled = 0;
    std::vector<KernelSpec> missing;  // neither found nor compiled; empty unless the policy forbids compiling
    CompilerCounts compilers;         // the compilers of the loaded kernels
    CompilerCounts unusable;          // the compilers of stored kernels that this driver does not load
    std::string warning;              // why the cabinet was not used, or why new kernels were not stored
  };

  // Loads those of `specs` that are not loaded yet. A kernel that the cabinet lacks is compiled under the policy
  // `compile`, and otherwise reported as missing. Under `error` nothing is loaded if any kernel is missing. If another
  // thread is making one of the kernels, this call waits for it. On an error, the kernels that were loaded stay loaded.
  // Precondition: `specs` are distinct.
  Expected<Loaded> load(const std::vector<KernelSpec>& specs, MissPolicy miss);

  // The loaded kernel of `spec`; null if it is not loaded. K is the class of the kernels of the family.
  template <class K>
  [[nodiscard]] std::shared_ptr<const K> find_loaded(const KernelSpec& spec) const {
    return std::dynamic_pointer_cast<const K>(find_kernel(spec));
  }
  [[nodiscard]] bool is_loaded(const KernelSpec& spec) const { return find_kernel(spec) != nullptr; }

  // Puts loaded kernels into a table that no other thread uses yet; also `generic`, if it is loaded.
  void fill(KernelTable& table, const KernelSpec& generic) const;

  // Makes the kernel of the row on a background thread and puts it into the table. If several rows wait for the same
  // kernel, it is made once. A kernel that failed is not tried again.
  void make_in_background(const std::shared_ptr<KernelTable>& table, std::size_t row);
  [[nodiscard]] BackgroundReport background() const;
  // Waits up to `patience` until no kernel is being made in the background. False if one still is.
  [[nodiscard]] bool wait_for_background(std::chrono::milliseconds patience) const;

  Expected<const GemmKernel*> on_miss(const std::shared_ptr<KernelTable>& table, std::size_t row, std::int64_t m,
                                      CUstream stream) override;

  // The error not_prepared, for a kernel that a problem selects over a range of M.
  [[nodiscard]] Error refusal(const KernelSpec& spec, const Problem& problem, MRange range) const;

  [[nodiscard]] const std::shared_ptr<const DeviceContext>& device() const { return parts_.device; }
  [[nodiscard]] MissPolicy miss_policy() const { return parts_.miss; }
  [[nodiscard]] const Registry& families() const { return *parts_.families; }

 private:
  // Held by the thread that makes a kernel. Other threads that want the same kernel wait for it.
  class MakeLock;
  // A loaded kernel, and the compiler that made it.
  struct Entry {
    std::shared_ptr<const Kernel> kernel;
    std::string compiler;
  };
  // The result of making one kernel.
  struct Made {
    std::optional<cache::Key> key;  // nullopt if the kernel was loaded before
    bool compiled = false;
    std::string store_problem;
  };
  using FoundKernels = std::vector<std::pair<KernelSpec, Provided>>;
  struct Waiting {
    std::shared_ptr<KernelTable> table;
    std::size_t row;
  };

  // The number of damaged entries that look-ups have moved to the quarantine.
  [[nodiscard]] std::int64_t damaged() const { return parts_.cabinet ? parts_.cabinet->set_aside() : 0; }
  [[nodiscard]] cache::Cabinet* cabinet() { return parts_.cabinet ? &*parts_.cabinet : nullptr; }
  std::shared_ptr<Compiler> compiler();
  void release_resources();
  [[nodiscard]] std::shared_ptr<const Kernel> find_kernel(const KernelSpec& spec) const;
  [[nodiscard]] std::vector<KernelSpec> not_loaded(const std::vector<KernelSpec>& specs) const;
  std::vector<KernelSpec> find_all(const std::vector<KernelSpec>& specs, FoundKernels& found) const;
  [[nodiscard]] CompilerCounts unusable_of(const std::vector<KernelSpec>& missing) const;
  [[nodiscard]] CompilerCounts compilers_of(const std::vector<KernelSpec>& specs) const;
  Expected<Loaded> load(const std::vector<KernelSpec>& specs, MissPolicy miss, Uses& uses);
  Expected<void> load_all(const FoundKernels& found, Uses& uses);
  Expected<void> make_all(const std::vector<KernelSpec>& specs, Loaded& loaded, Uses& uses);
  Expected<Made> make_one(const KernelSpec& spec) noexcept;
  Expected<void> load_one(const KernelSpec& spec, const cache::Object& object);
  void set_row(KernelTable& table, std::size_t row);
  void make_for_waiting(const KernelSpec& spec) noexcept;

  EngineParts parts_;
  mutable std::mutex mutex_;  // guards the next four, and set() of every table; never held during a compilation
  std::condition_variable made_;
  std::set<KernelSpec> in_work_;
  std::shared_ptr<Compiler> compiler_;
  std::map<KernelSpec, Entry> loaded_;

  mutable std::mutex report_mutex_;  // guards the next four
  mutable std::condition_variable settled_;
  BackgroundReport report_;
  std::map<KernelSpec, std::vector<Waiting>> waiting_;
  std::set<KernelSpec> failed_;

  UsageRecorder usage_;
  util::BackgroundThread background_;  // last: it ends before what it uses
};

}  // namespace cubinet::jit
