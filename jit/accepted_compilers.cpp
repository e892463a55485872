#include "jit/accepted_compilers.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "jit/driver_limit.hpp"
#include "util/text.hpp"

namespace cubinet::jit {
namespace {

constexpr std::string_view kNvrtc = "NVRTC ";

}  // namespace

const std::vector<std::string>& accepted_compilers() {
  static const std::vector<std::string> accepted{"13.0.88", "13.0.48", "12.9.86", "12.9.41",  "12.8.93",
                                                 "13.2.86", "13.2.78", "13.2.51", "13.1.115", "13.1.80",
                                                 "13.4.92", "13.4.59", "13.3.33"};
  return accepted;
}

std::string preferred_text() {
  std::vector<std::string> best;
  std::set<std::string> majors;
  for (const std::string& version : accepted_compilers()) {
    if (majors.insert(version.substr(0, version.find('.'))).second) best.push_back(version);
  }
  return fmt::format("{}", fmt::join(best, " or "));
}

std::string compiler_name(std::string_view version) {
  return version.empty() ? std::string() : std::string(kNvrtc).append(version);
}

std::string_view compiler_version(std::string_view compiler) {
  return compiler.starts_with(kNvrtc) ? compiler.substr(kNvrtc.size()) : std::string_view();
}

bool is_accepted(std::string_view compiler) {
  const auto& accepted = accepted_compilers();
  return std::find(accepted.begin(), accepted.end(), compiler_version(compiler)) != accepted.end();
}

std::string compilers_text(const CompilerCounts& compilers) {
  std::string text;
  for (const auto& [compiler, kernels] : compilers) {
    text += (text.empty() ? "" : ", ") + (compiler.empty() ? std::string("an unknown compiler") : compiler);
    if (compilers.size() > 1) text += " (" + std::to_string(kernels) + ")";
  }
  return text;
}

std::int64_t unaccepted_of(const CompilerCounts& compilers) {
  std::int64_t kernels = 0;
  for (const auto& [compiler, count] : compilers) kernels += is_accepted(compiler) ? 0 : count;
  return kernels;
}

bool loads_all(int driver, const CompilerCounts& compilers) {
  return std::all_of(compilers.begin(), compilers.end(),
                     [&](const auto& one) { return loads(driver, compiler_version(one.first)); });
}

namespace {

std::int64_t total_of(const CompilerCounts& compilers) {
  std::int64_t kernels = 0;
  for (const auto& [compiler, count] : compilers) kernels += count;
  return kernels;
}

// The subject and verb of a message: "3 kernels were" or "1 kernel was".
std::string counted(const CompilerCounts& compilers) {
  const std::int64_t kernels = total_of(compilers);
  return util::count_text(kernels, "kernel") + (kernels == 1 ? " was" : " were");
}

}  // namespace

std::string unaccepted_text(const CompilerCounts& compilers) {
  CompilerCounts others = compilers;
  std::erase_if(others, [](const auto& one) { return is_accepted(one.first); });
  if (others.empty()) return {};
  return fmt::format(
      "{} made by {}, which this build of Cubinet was not tested with; a warmup with NVRTC {} makes "
      "{} again",
      counted(others), compilers_text(others), preferred_text(), total_of(others) == 1 ? "it" : "them");
}

std::string unusable_text(const CompilerCounts& compilers, int driver) {
  if (compilers.empty()) return {};
  const std::string newest(compiler_version(compilers.rbegin()->first));
  return fmt::format("{} made by {}, and this driver takes CUDA {} at most; {}", counted(compilers),
                     compilers_text(compilers), cuda_version_text(driver), driver_limit_advice(driver, newest));
}

std::optional<int> rank(std::string_view compiler, int driver) {
  const std::string_view version = compiler_version(compiler);
  if (!loads(driver, version)) return std::nullopt;
  const auto& accepted = accepted_compilers();
  return static_cast<int>(std::find(accepted.begin(), accepted.end(), version) - accepted.begin());
}

cache::Preference preference_for(int driver) {
  return [driver](const cache::Facts& facts) { return rank(facts.compiler, driver); };
}

bool replaces(std::string_view compiler, std::string_view present) {
  return is_accepted(compiler) && !is_accepted(present);
}

}  // namespace cubinet::jit
