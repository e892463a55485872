#include "tools/toolchain.hpp"

#include <filesystem>

#include <CLI/CLI.hpp>

#include "cubinet/cubinet.hpp"

namespace cubinet::tools {

Toolchain open_toolchain(const Expected<void>& room) {
  auto nvrtc = room.and_then([] { return jit::NvrtcCompiler::open(ServiceOptions::from_environment().nvrtc_folders); });
  if (nvrtc) return {*std::move(nvrtc), std::nullopt};
  return {std::make_unique<jit::AbsentCompiler>(nvrtc.error()), nvrtc.error()};
}

void add_cache_option(CLI::App& app, std::string& folder) {
  app.add_option(
         "--cache", folder,
         "The cabinet's folder (default: CUBINET_CACHE_DIR, else XDG_CACHE_HOME/cubinet, else ~/.cache/cubinet)")
      ->type_name("DIR")
      ->check([](const std::string& text) { return text.empty() ? "the name of the folder is empty" : ""; }, "");
}

Expected<std::string> cache_root(const std::string& option) {
  const std::string root = option.empty() ? ServiceOptions::from_environment().cache_root : option;
  if (root.empty()) {
    return fail(ErrorCode::invalid_argument,
                "no cache folder: give --cache DIR, or set CUBINET_CACHE_DIR, or XDG_CACHE_HOME or HOME to an "
                "absolute path");
  }
  std::error_code trouble;  // where the current folder is gone, the name stays as it is
  const std::filesystem::path absolute = std::filesystem::absolute(root, trouble);
  return trouble ? root : absolute.string();
}

}  // namespace cubinet::tools
