#include "warmup/campaign/setup.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "cache/root.hpp"

namespace cubinet::warmup {

Expected<std::string> cabinet_root(const std::string& folder, const OptionNames& names) {
  if (folder.empty()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("no cache folder: give {}, or set CUBINET_CACHE_DIR, or XDG_CACHE_HOME or HOME to an "
                            "absolute path",
                            names.cache_value));
  }
  if (folder.starts_with('~')) return fail(ErrorCode::invalid_argument, cache::unexpanded_home(folder));
  std::error_code trouble;  // if the current folder was removed, the name stays relative
  const std::filesystem::path absolute = std::filesystem::absolute(folder, trouble);
  return trouble ? folder : absolute.string();
}

Toolchain open_toolchain(const std::vector<std::string>& folders, const Expected<void>& room) {
  auto nvrtc = room.and_then([&] { return jit::NvrtcCompiler::open(folders); });
  if (nvrtc) return {*std::move(nvrtc), std::nullopt};
  return {std::make_unique<jit::AbsentCompiler>(nvrtc.error()), nvrtc.error()};
}

const jit::NvrtcLocation& location_of(const Toolchain& toolchain) {
  return static_cast<const jit::NvrtcCompiler&>(*toolchain.compiler).location();
}

}  // namespace cubinet::warmup
