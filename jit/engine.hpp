// The implementation of cubinet::Service: from problems to tables of loaded kernels.
#pragma once

#include <memory>
#include <vector>

#include "cubinet/cubinet.hpp"
#include "jit/kernel_store.hpp"
#include "jit/prepared_gemm.hpp"
#include "jit/quantizer.hpp"
#include "jit/target.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// Thread-safe. A PreparedGemm keeps its kernels, and can load further ones, after the engine has been destroyed.
class Engine {
 public:
  explicit Engine(EngineParts parts) : store_(std::make_shared<KernelStore>(std::move(parts))) {}

  // See Service::prepare.
  Expected<std::vector<PreparedGemm>> prepare(const std::vector<ProblemRange>& problems, StartReport* report);
  Expected<PreparedGemm> prepare(const Problem& problem, MRange range, StartReport* report);

  // See Service::prepare_quantizer.
  Expected<PreparedQuantizer> prepare_quantizer(StartReport* report);

  [[nodiscard]] const KernelStore& kernels() const { return *store_; }

 private:
  // The target of the engine's device. Error: wrong_device.
  [[nodiscard]] Expected<Target> target() const { return target_of(store_->device()->info()); }
  Expected<KernelStore::Loaded> load(const std::vector<ProblemRange>& problems, const Target& target);
  Expected<void> load_stand_ins(const std::vector<ProblemRange>& problems, const Target& target,
                                KernelStore::Loaded& loaded);
  Expected<void> compile_unserved(const std::vector<ProblemRange>& problems, const Target& target,
                                  KernelStore::Loaded& loaded);
  void compile_companions(const std::vector<ProblemRange>& problems, const Target& target, KernelStore::Loaded& loaded);
  [[nodiscard]] std::shared_ptr<const QuantizationKernels> quantization_for(const Problem& problem,
                                                                            const Target& target) const;
  PreparedGemm prepare_one(const ProblemRange& wanted, const Target& target);

  std::shared_ptr<KernelStore> store_;
};

}  // namespace cubinet::jit
