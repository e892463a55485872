#include "warmup/campaign/cabinet_root.hpp"

#include <filesystem>
#include <system_error>

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
  std::error_code trouble;  // where the current folder is gone, the name stays as it is
  const std::filesystem::path absolute = std::filesystem::absolute(folder, trouble);
  return trouble ? folder : absolute.string();
}

}  // namespace cubinet::warmup
