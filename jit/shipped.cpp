#include "jit/shipped.hpp"

#include <dlfcn.h>

#include <system_error>

namespace cubinet::jit {

std::string shipped_kernels(const std::filesystem::path& binary) {
  std::error_code ignored;  // what cannot be looked at is not there
  std::filesystem::path folder = std::filesystem::canonical(binary, ignored).parent_path();
  for (int up = 0; up < 2 && folder.has_relative_path(); ++up) {
    folder = folder.parent_path();
    const auto kernels = folder / "share" / "cubinet" / "kernels";
    if (std::filesystem::exists(kernels / "FORMAT", ignored)) return kernels.string();
  }
  return {};
}

std::string shipped_kernels() {
  static const int here = 0;
  Dl_info info{};
  if (dladdr(&here, &info) == 0 || info.dli_fname == nullptr) return {};
  return shipped_kernels(info.dli_fname);
}

}  // namespace cubinet::jit
