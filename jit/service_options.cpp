#include <cstdlib>

#include "cubinet/cubinet.hpp"

namespace cubinet {
namespace {

// The variable's value; empty when it is unset.
std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string default_cache_root() {
  if (std::string own = variable("CUBINET_CACHE_DIR"); !own.empty()) return own;
  // An empty or relative XDG_CACHE_HOME counts as unset, as the XDG base directory specification has it.
  if (const std::string xdg = variable("XDG_CACHE_HOME"); !xdg.empty() && xdg.front() == '/') return xdg + "/cubinet";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.cache/cubinet";
  return {};
}

}  // namespace

ServiceOptions ServiceOptions::from_environment() {
  ServiceOptions options;
  options.cache_root = default_cache_root();
  for (const char* name : {"CUBINET_NVRTC_DIR", "CUDA_HOME"}) {
    if (std::string folder = variable(name); !folder.empty()) options.nvrtc_folders.push_back(std::move(folder));
  }
  return options;
}

}  // namespace cubinet
