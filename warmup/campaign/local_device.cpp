#include "warmup/campaign/local_device.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>
#include <string>
#include <system_error>

#include "jit/accepted_compilers.hpp"
#include "jit/driver.hpp"
#include "jit/driver_limit.hpp"

namespace cubinet::warmup {
namespace {

// "NVIDIA H200" from the line "Model: \t\t NVIDIA H200" of a GPU's information file; empty if there is no such line.
std::string model_in(const std::filesystem::path& information) {
  std::ifstream in(information);
  for (std::string line; std::getline(in, line);) {
    constexpr std::string_view label = "Model:";
    if (!line.starts_with(label)) continue;
    const std::size_t begin = line.find_first_not_of(" \t", label.size());
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return {};
}

// The first word of the file that is a version, such as "580.159.04".
std::string version_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  for (std::string word; in >> word;) {
    const bool digits = word.find_first_not_of("0123456789.") == std::string::npos;
    if (digits && word.find('.') != std::string::npos) return word;
  }
  return {};
}

// The number before the first dot: 580 for "580.95.05".
int leading_number(const std::string& text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// The CUDA major version of a driver branch; 0 for unknown branches. From NVIDIA, CUDA Compatibility, "Minor Version
// Compatibility", table 1.
int cuda_major_of_branch(int branch) {
  if (branch >= 580) return 13;
  if (branch >= 525) return 12;
  return branch >= 450 ? 11 : 0;
}

int newest_accepted_major() {
  int newest = 0;
  for (const std::string& version : jit::accepted_compilers()) newest = std::max(newest, leading_number(version));
  return newest;
}

}  // namespace

std::optional<Executed> identity_from_module(const std::filesystem::path& folder, const std::filesystem::path& node) {
  std::set<std::string> models;
  std::error_code trouble;
  if (!std::filesystem::exists(node, trouble)) return std::nullopt;
  for (std::filesystem::directory_iterator gpu(folder / "gpus", trouble), end; !trouble && gpu != end;
       gpu.increment(trouble)) {
    models.insert(model_in(gpu->path() / "information"));
  }
  const std::string version = version_in(folder / "version");
  if (models.size() != 1 || models.begin()->empty() || version.empty()) return std::nullopt;
  return Executed{*models.begin(), version};
}

Expected<Executed> identify_device(int ordinal) {
  if (auto known = identity_from_module()) return *known;
  const auto driver = jit::Driver::open();
  if (!driver) return propagate(driver);
  const auto device = jit::describe_device(**driver, ordinal);
  if (!device) return propagate(device);
  int version = 0;
  const auto told = (*driver)->check((*driver)->cuDriverGetVersion(&version), "cuDriverGetVersion");
  if (!told) return propagate(told);
  return Executed{device->name, "CUDA " + jit::cuda_version_text(version)};
}

int driver_version() {
  const auto driver = jit::Driver::open();
  return driver ? (*driver)->version() : 0;
}

int driver_limit(const std::optional<Executed>& module, const std::function<int()>& ask) {
  if (!module) return 0;
  const int major = cuda_major_of_branch(leading_number(module->driver));
  return major >= newest_accepted_major() ? major * 1000 : ask();
}

int local_driver_limit() { return driver_limit(identity_from_module(), driver_version); }

}  // namespace cubinet::warmup
