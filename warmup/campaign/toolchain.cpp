#include "warmup/campaign/toolchain.hpp"

#include <utility>

namespace cubinet::warmup {

Toolchain open_toolchain(const std::vector<std::string>& folders, const Expected<void>& room) {
  auto nvrtc = room.and_then([&] { return jit::NvrtcCompiler::open(folders); });
  if (nvrtc) return {*std::move(nvrtc), std::nullopt};
  return {std::make_unique<jit::AbsentCompiler>(nvrtc.error()), nvrtc.error()};
}

const jit::NvrtcLocation& location_of(const Toolchain& toolchain) {
  return static_cast<const jit::NvrtcCompiler&>(*toolchain.compiler).location();
}

}  // namespace cubinet::warmup
