#include "support/gpu_session.hpp"

#include <utility>

#include "jit/accepted_compilers.hpp"
#include "warmup/campaign/setup.hpp"

namespace cubinet::test {

Expected<GpuSession> GpuSession::open(const std::string& cache_root, const std::vector<std::string>& nvrtc_folders,
                                      int ordinal) {
  auto device = jit::open_device(ordinal);
  if (!device) return propagate(device);
  GpuSession session{std::move(*device), warmup::open_toolchain(nvrtc_folders).compiler, {}};
  if (!cache_root.empty()) {
    const int driver = session.device->driver().version();
    auto cabinet = cache::Cabinet::open(cache_root, true, {.preference = jit::preference_for(driver)});
    if (!cabinet) return propagate(cabinet);
    session.cabinet = std::move(*cabinet);
  }
  return session;
}

}  // namespace cubinet::test
