#include "warmup/gpu_session.hpp"

#include <utility>

namespace cubinet::warmup {
namespace {

std::unique_ptr<jit::Compiler> open_compiler(const std::vector<std::string>& folders) {
  auto compiler = jit::NvrtcCompiler::open(folders);
  if (compiler) return std::move(*compiler);
  return std::make_unique<jit::AbsentCompiler>(compiler.error());
}

}  // namespace

Expected<GpuSession> GpuSession::open(const std::string& cache_root, const std::vector<std::string>& nvrtc_folders,
                                      int ordinal) {
  auto device = jit::open_device(ordinal);
  if (!device) return tl::make_unexpected(device.error());
  GpuSession session{std::move(*device), open_compiler(nvrtc_folders), {}};
  if (!cache_root.empty()) {
    auto cabinet = cache::Cabinet::open(cache_root, true);
    if (!cabinet) return tl::make_unexpected(cabinet.error());
    session.cabinet = std::move(*cabinet);
  }
  return session;
}

}  // namespace cubinet::warmup
