#include "jit/families/shipped_families.hpp"
#include "jit/quantization_kernels.hpp"

namespace cubinet::jit {
namespace {

class Fp8Quantization final : public Family {
 public:
  Fp8Quantization() : Family("fp8_quantization", "sm_90a") {}

  [[nodiscard]] std::vector<std::string> entry_points() const override { return QuantizationKernels::entry_points(); }

  [[nodiscard]] Expected<std::shared_ptr<const Kernel>> load(std::shared_ptr<const DeviceContext> device,
                                                             const KernelSpec& spec,
                                                             std::string_view cubin) const override {
    return QuantizationKernels::load(std::move(device), spec, cubin);
  }
};

}  // namespace

const Family& fp8_quantization() {
  static const Fp8Quantization family;
  return family;
}

}  // namespace cubinet::jit
