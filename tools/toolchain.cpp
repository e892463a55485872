#include "tools/toolchain.hpp"

#include <system_error>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cubinet/cubinet.hpp"

namespace cubinet::tools {
namespace {

namespace fs = std::filesystem;

// The path with every link in it followed, as far as there is something.
fs::path followed(const fs::path& path) {
  std::error_code trouble;
  const fs::path absolute = fs::absolute(path, trouble);
  fs::path canonical = fs::weakly_canonical(absolute, trouble);
  return trouble ? absolute.lexically_normal() : canonical;
}

}  // namespace

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
  const fs::path absolute = fs::absolute(root, trouble);
  return trouble ? root : absolute.string();
}

Expected<void> check_outside(std::string_view option, const fs::path& file, const fs::path& root) {
  const fs::path way = followed(file).lexically_relative(followed(root));
  if (way.empty() || *way.begin() == "..") return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("{}: {} lies in the cabinet {}; name a file outside", option, file.native(), root.native()));
}

Expected<cache::Limits> environment_limits() {
  const ServiceOptions options = ServiceOptions::from_environment();
  return cache::limits_from(options.cache_max_size, options.cache_max_entries);
}

}  // namespace cubinet::tools
