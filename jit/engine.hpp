// What stands behind cubinet::Service: select, provide, load, with every outside thing handed in.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/cabinet.hpp"
#include "cubinet/cubinet.hpp"
#include "jit/compiler.hpp"
#include "jit/driver.hpp"
#include "jit/kernel_spec.hpp"
#include "jit/prepared_gemm.hpp"
#include "jit/provide.hpp"
#include "jit/quantization_kernels.hpp"
#include "jit/quantizer.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// What an engine works with.
struct EngineParts {
  std::shared_ptr<const DeviceContext> device;
  std::optional<cache::Cabinet> cabinet;
  std::string cabinet_problem;  // why there is no cabinet, though one was asked for
  std::function<Expected<std::unique_ptr<Compiler>>()> open_compiler;  // called when something must be compiled
  std::string expected_nvrtc;  // version whose kernels the cabinet is asked for before a compiler is opened
  int jobs = 0;                // compile threads; 0: one per usable core
};

// Thread-safe: one prepare() at a time does the work, so that no kernel is compiled or loaded twice.
class Engine {
 public:
  explicit Engine(EngineParts parts) : parts_(std::move(parts)) {}

  // See Service::prepare.
  Expected<PreparedGemm> prepare(const Problem& problem, MRange range, PrepareReport* report);

  // See Service::prepare_quantizer.
  Expected<PreparedQuantizer> prepare_quantizer(PrepareReport* report);

 private:
  Expected<std::vector<Provided>> provide_all(const std::vector<KernelSpec>& specs);
  Compiler& compiler();
  [[nodiscard]] bool is_loaded(const KernelSpec& spec) const;
  Expected<void> load(const KernelSpec& spec, const cache::Object& object);
  Expected<void> load_missing(const std::vector<KernelSpec>& specs, PrepareReport& report);

  EngineParts parts_;
  std::mutex mutex_;  // guards everything below, and the cabinet
  std::unique_ptr<Compiler> compiler_;
  std::unique_ptr<Compiler> absent_;
  std::map<KernelSpec, std::shared_ptr<const LoadedKernel>> loaded_;
  std::shared_ptr<const QuantizationKernels> quantization_;
};

}  // namespace cubinet::jit
