#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cubinet/cubinet.hpp"
#include "jit/shipped.hpp"

namespace cubinet {
namespace {

// The value of an environment variable; empty if it is unset.
std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string default_cache_root() {
  if (std::string own = variable("CUBINET_CACHE_DIR"); !own.empty()) return own;
  // An empty or relative path counts as unset, as the XDG base directory specification requires: otherwise the cabinet
  // would move with the current folder.
  if (const std::string xdg = variable("XDG_CACHE_HOME"); xdg.starts_with('/')) return xdg + "/cubinet";
  if (const std::string home = variable("HOME"); home.starts_with('/')) return home + "/.cache/cubinet";
  return {};
}

// The parts of a list that are separated by colons. Empty parts are skipped.
std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ':');) {
    if (!part.empty()) parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace

ServiceOptions ServiceOptions::from_environment() {
  ServiceOptions options;
  options.cache_root = default_cache_root();
  options.layers = split(variable("CUBINET_CACHE_PATH"));
  if (std::string shipped = jit::shipped_kernels(); !shipped.empty()) options.layers.push_back(std::move(shipped));
  options.cache_max_size = variable("CUBINET_CACHE_MAX_SIZE");
  options.cache_max_entries = variable("CUBINET_CACHE_MAX_ENTRIES");
  options.promote = variable("CUBINET_CACHE_PROMOTE") == "1";
  options.bundle_key = variable("CUBINET_BUNDLE_KEY");
  for (const char* name : {"CUBINET_NVRTC_DIR", "CUDA_HOME"}) {
    if (std::string folder = variable(name); !folder.empty()) options.nvrtc_folders.push_back(std::move(folder));
  }
  return options;
}

}  // namespace cubinet
