#include "jit/accepted_compilers.hpp"

#include <algorithm>
#include <charconv>

namespace cubinet::jit {
namespace {

constexpr std::string_view kNvrtc = "NVRTC ";

// "13.0.88" of "NVRTC 13.0.88"; empty for another text.
std::string_view version_of(std::string_view compiler) {
  return compiler.starts_with(kNvrtc) ? compiler.substr(kNvrtc.size()) : std::string_view();
}

// 13 of "13.0.88".
std::optional<int> major_of(std::string_view version) {
  int major = 0;
  const char* const end = version.data() + version.size();
  const auto read = std::from_chars(version.data(), end, major);
  const bool whole = read.ec == std::errc() && (read.ptr == end || *read.ptr == '.');
  return whole ? std::optional(major) : std::nullopt;
}

}  // namespace

const std::vector<std::string>& accepted_compilers() {
  static const std::vector<std::string> accepted{"13.0.88", "13.0.48", "13.1.115", "13.1.80"};
  return accepted;
}

std::string compiler_name(std::string_view version) {
  return version.empty() ? std::string() : std::string(kNvrtc).append(version);
}

std::optional<int> accepted_rank(std::string_view compiler) {
  const auto& accepted = accepted_compilers();
  const auto found = std::find(accepted.begin(), accepted.end(), version_of(compiler));
  if (found == accepted.end()) return std::nullopt;
  return static_cast<int>(found - accepted.begin());
}

std::string to_string(CudaVersion version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

bool can_load(std::string_view compiler, std::optional<CudaVersion> driver) {
  const auto major = major_of(version_of(compiler));
  return !driver || !major || *major <= driver->major;
}

int unaccepted_rank() { return static_cast<int>(accepted_compilers().size()); }

std::optional<int> rank(std::string_view compiler, std::optional<CudaVersion> driver) {
  if (!can_load(compiler, driver)) return std::nullopt;
  return accepted_rank(compiler).value_or(unaccepted_rank());
}

}  // namespace cubinet::jit
