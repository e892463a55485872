// What stands behind cubinet::Service: from problems to tables of loaded kernels.
#pragma once

#include <memory>
#include <vector>

#include "cubinet/cubinet.hpp"
#include "jit/kernel_store.hpp"
#include "jit/prepared_gemm.hpp"
#include "jit/quantizer.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// Thread-safe. What it prepares keeps its kernels, and the means to make more, beyond its own end.
class Engine {
 public:
  explicit Engine(EngineParts parts) : store_(std::make_shared<KernelStore>(std::move(parts))) {}

  // See Service::prepare.
  Expected<std::vector<PreparedGemm>> prepare(const std::vector<ProblemRange>& problems, StartReport* report);
  Expected<PreparedGemm> prepare(const Problem& problem, MRange range, PrepareReport* report);

  // See Service::prepare_quantizer.
  Expected<PreparedQuantizer> prepare_quantizer(PrepareReport* report);

  [[nodiscard]] const KernelStore& kernels() const { return *store_; }

 private:
  Expected<KernelStore::Loaded> load(const std::vector<ProblemRange>& problems, const std::string& architecture);
  Expected<void> load_spares(const std::vector<ProblemRange>& problems, const std::string& architecture,
                             KernelStore::Loaded& loaded);

  std::shared_ptr<KernelStore> store_;
};

}  // namespace cubinet::jit
