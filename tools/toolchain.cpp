#include "tools/toolchain.hpp"

#include <CLI/CLI.hpp>

#include "cubinet/cubinet.hpp"

namespace cubinet::tools {

Toolchain open_toolchain() {
  auto nvrtc = jit::NvrtcCompiler::open(ServiceOptions::from_environment().nvrtc_folders);
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
  if (!option.empty()) return option;
  std::string root = ServiceOptions::from_environment().cache_root;
  if (!root.empty()) return root;
  return fail(ErrorCode::invalid_argument,
              "no cache folder: give --cache DIR, or set CUBINET_CACHE_DIR, XDG_CACHE_HOME or HOME");
}

}  // namespace cubinet::tools
