#include "warmup/campaign/device_identity.hpp"

#include <fstream>
#include <set>
#include <string>
#include <system_error>

#include "jit/driver.hpp"
#include "jit/driver_limit.hpp"

namespace cubinet::warmup {
namespace {

// "Model: \t\t NVIDIA H200" in a GPU's information; empty when it is not there.
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

// The first word of the module's first line that is a version, as "580.159.04".
std::string version_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  for (std::string word; in >> word;) {
    const bool digits = word.find_first_not_of("0123456789.") == std::string::npos;
    if (digits && word.find('.') != std::string::npos) return word;
  }
  return {};
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

}  // namespace cubinet::warmup
