#include "tools/toolchain.hpp"

#include <system_error>

#include <fmt/format.h>

#include "cubinet/cubinet.hpp"
#include "warmup/campaign/setup.hpp"

namespace cubinet::tools {
namespace {

namespace fs = std::filesystem;

// The path with all links resolved, as far as it exists.
fs::path followed(const fs::path& path) {
  std::error_code trouble;
  const fs::path absolute = fs::absolute(path, trouble);
  fs::path canonical = fs::weakly_canonical(absolute, trouble);
  return trouble ? absolute.lexically_normal() : canonical;
}

// Whether NvrtcCompiler::open finds the library `file` through `folder`.
bool is_taken_from(const fs::path& file, const std::string& folder) {
  for (const char* below : {"", "/lib64", "/lib"}) {
    if (file == (fs::absolute(folder + below) / file.filename()).lexically_normal()) return true;
  }
  return false;
}

}  // namespace

Toolchain open_toolchain(const Expected<void>& room) {
  return warmup::open_toolchain(ServiceOptions::from_environment().nvrtc_folders, room);
}

std::string passed_over(const Toolchain& toolchain) {
  if (toolchain.missing) return {};
  const jit::NvrtcLocation& taken = location_of(toolchain);
  std::string folders;
  for (const std::string& folder : ServiceOptions::from_environment().nvrtc_folders) {
    if (is_taken_from(taken.path, folder)) break;
    folders += (folders.empty() ? "" : ", ") + folder;
  }
  if (folders.empty()) return {};
  const std::string fault = taken.refused.empty() ? "without an NVRTC" : "not usable (" + taken.refused + ")";
  return fmt::format("named by CUBINET_NVRTC_DIR or CUDA_HOME, but {}: {}", fault, folders);
}

void add_cache_option(Command command, std::string& folder) {
  command
      .option("--cache", folder,
              "The cabinet's folder (default: CUBINET_CACHE_DIR, else XDG_CACHE_HOME/cubinet, else ~/.cache/cubinet)")
      .type_name("DIR")
      .not_empty("the name of the folder is empty");
}

Expected<std::string> cache_root(const std::string& option) {
  const std::string root = option.empty() ? ServiceOptions::from_environment().cache_root : option;
  return warmup::cabinet_root(root, warmup::command_options);
}

Expected<void> check_outside(std::string_view option, const fs::path& file, const fs::path& root) {
  const fs::path way = followed(file).lexically_relative(followed(root));
  if (way.empty() || *way.begin() == "..") return {};
  return fail(ErrorCode::invalid_argument, fmt::format("{}: {} is inside the cabinet {}; name a file outside", option,
                                                       file.native(), root.native()));
}

Expected<void> check_apart(std::string_view option, const fs::path& file, std::string_view input_option,
                           const fs::path& input) {
  std::error_code none_there;
  if (input.empty() || (followed(file) != followed(input) && !fs::equivalent(file, input, none_there))) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("{}: {} is the input file of {}; name another file", option, file.native(), input_option));
}

Expected<cache::Limits> environment_limits() {
  const ServiceOptions options = ServiceOptions::from_environment();
  return cache::limits_from(options.cache_max_size, options.cache_max_entries);
}

}  // namespace cubinet::tools
