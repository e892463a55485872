#include "jit/shipped.hpp"

#include <dlfcn.h>
#include <link.h>

#include <system_error>

namespace cubinet::jit {
namespace {

// The path of the binary that holds this function. For an executable the loader knows only the command by which it was
// started, so /proc/self/exe is used.
std::filesystem::path own_binary() {
  static const int here = 0;
  Dl_info info{};
  void* map = nullptr;
  if (dladdr1(&here, &info, &map, RTLD_DL_LINKMAP) == 0) return {};
  const char* name = static_cast<const link_map*>(map)->l_name;
  return *name != '\0' ? name : "/proc/self/exe";
}

}  // namespace

std::string shipped_kernels(const std::filesystem::path& binary) {
  std::error_code ignored;  // a path that cannot be read counts as absent
  std::filesystem::path folder = std::filesystem::canonical(binary, ignored).parent_path();
  for (int up = 0; up < 2 && folder.has_relative_path(); ++up) {
    folder = folder.parent_path();
    const auto kernels = folder / "share" / "cubinet" / "kernels";
    if (std::filesystem::exists(kernels / "FORMAT", ignored)) return kernels.string();
  }
  return {};
}

std::string shipped_kernels() { return shipped_kernels(own_binary()); }

std::string shipped_worker(const std::filesystem::path& binary) {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::canonical(binary, ignored).parent_path();
  if (folder.empty()) return {};
  for (const char* below : {".", "../bin", "../libexec/cubinet", "../../libexec/cubinet"}) {
    const auto program = (folder / below / "cubinet-compile-worker").lexically_normal();
    if (std::filesystem::is_regular_file(program, ignored)) return program.string();
  }
  return {};
}

std::string shipped_worker() { return shipped_worker(own_binary()); }

}  // namespace cubinet::jit
