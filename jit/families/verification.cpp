#include "jit/families/shipped_families.hpp"
#include "jit/kernel.hpp"

namespace cubinet::jit {
namespace {

// The caller looks up the entry points: see VerificationKernels.
class Verification final : public Family {
 public:
  Verification() : Family("verification", "sm_90a") {}

  [[nodiscard]] Expected<std::shared_ptr<const Kernel>> load(std::shared_ptr<const DeviceContext> device,
                                                             const KernelSpec& spec,
                                                             std::string_view cubin) const override {
    return LoadedModule::load(std::move(device), cubin, spec.architecture).map([&](LoadedModule module) {
      return std::make_shared<const Kernel>(spec, std::move(module));
    });
  }
};

}  // namespace

const Family& verification() {
  static const Verification family;
  return family;
}

}  // namespace cubinet::jit
