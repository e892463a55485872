#include "jit/driver_limit.hpp"

#include <fmt/format.h>

namespace cubinet::jit {

std::string driver_limit_mend(CudaVersion driver, std::string_view compiler) {
  std::string mend =
      "install a newer driver (580 or later loads all of CUDA 13), or the package cuda-compat-13-0 where the GPU takes "
      "it";
  if (can_load("NVRTC 12.9.86", driver)) {
    mend += fmt::format(
        ", or warm with an NVRTC that fits, in the place of {}: pip install nvidia-cuda-nvrtc-cu12==12.9.86, and set "
        "CUBINET_NVRTC_DIR to its folder nvidia/cuda_nvrtc",
        compiler);
  }
  return mend;
}

Expected<void> check_driver_limit(const Driver& driver, std::string_view compiler) {
  const auto version = driver.version();
  if (can_load(compiler, version)) return {};
  return fail(ErrorCode::wrong_device,
              fmt::format("the CUDA driver {} is too old: it is for CUDA {} and loads no kernel of {}; {}", driver.path,
                          to_string(*version), compiler, driver_limit_mend(*version, compiler)));
}

std::string compiler_of_cubin(std::string_view cubin) {
  // As in "Cuda compilation tools, release 13.0, V13.0.88".
  constexpr std::string_view release = "Cuda compilation tools, release ";
  const std::size_t at = cubin.find(release);
  if (at == std::string_view::npos) return {};
  const std::string_view line = cubin.substr(at + release.size(), 40);
  const std::size_t build = line.find(", V");
  if (build == std::string_view::npos) return {};
  const std::string_view digits = line.substr(build + 3);
  return compiler_name(digits.substr(0, digits.find_first_not_of("0123456789.")));
}

}  // namespace cubinet::jit
