#include "jit/driver_limit.hpp"

#include <charconv>

#include <fmt/format.h>

namespace cubinet::jit {
namespace {

// The major version: 13 for "13.0.88"; 0 if the text is not a version.
int major_of(std::string_view compiler) {
  int major = 0;
  std::from_chars(compiler.data(), compiler.data() + compiler.size(), major);
  return major;
}

int major_of(int driver) { return driver / 1000; }

}  // namespace

std::string cuda_version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

bool loads(int driver, std::string_view compiler) {
  return driver == 0 || compiler.empty() || major_of(compiler) <= major_of(driver);
}

std::string driver_limit_advice(int driver, std::string_view compiler) {
  const int major = major_of(compiler);
  std::string advice =
      fmt::format("install a driver of CUDA {}{}, or the package cuda-compat-{}-0 if the GPU supports it", major,
                  major == 13 ? " (580 or later)" : "", major);
  if (major_of(driver) == 12) {
    advice +=
        ", or warm with an NVRTC that fits: pip install nvidia-cuda-nvrtc-cu12==12.9.86, and set CUBINET_NVRTC_DIR to "
        "its folder nvidia/cuda_nvrtc";
  }
  return advice;
}

Expected<void> check_driver_limit(const Driver& driver, std::string_view compiler) {
  const int version = driver.version();
  if (loads(version, compiler)) return {};
  return fail(ErrorCode::wrong_device,
              fmt::format("the CUDA driver {} is too old: it is for CUDA {} and loads no kernel of NVRTC {}; {}",
                          driver.path, cuda_version_text(version), compiler, driver_limit_advice(version, compiler)));
}

std::string compiler_of_cubin(std::string_view cubin) {
  // The cubin contains the text "Cuda compilation tools, release 13.0, V13.0.88".
  constexpr std::string_view release = "Cuda compilation tools, release ";
  const std::size_t at = cubin.find(release);
  if (at == std::string_view::npos) return {};
  const std::string_view line = cubin.substr(at + release.size(), 40);
  const std::size_t build = line.find(", V");
  if (build == std::string_view::npos) return {};
  const std::string_view digits = line.substr(build + 3);
  return std::string(digits.substr(0, digits.find_first_not_of("0123456789.")));
}

}  // namespace cubinet::jit
