#include "jit/miss.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "jit/problems.hpp"

namespace cubinet::jit {
namespace {

// Quotes a text so that a shell reads it as one word.
std::string quoted(const std::string& word) {
  constexpr const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:@%,=";
  if (word.find_first_not_of(plain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

std::string warm_command(const Problem& problem, MRange range, const std::string& architecture,
                         const std::string& cache_root) {
  std::string command =
      fmt::format("cubinet warmup --shape {},{},{} --dtype {} --layout {} --m-min {} --m-max {} --arch {}", problem.n,
                  problem.k, problem.groups, data_type_name(problem.data_type), layout_name(problem.layout),
                  std::min(range.first, largest_m()), std::min(range.last, largest_m()), architecture);
  if (!cache_root.empty()) command += " --cache " + quoted(cache_root);
  return command;
}

Error missing_kernel(const KernelSpec& spec, const std::string& command) {
  return {
      ErrorCode::not_prepared,
      fmt::format("{} is not in the cabinet (key {}); warm it with: {}", describe(spec), key_of(spec).hex(), command),
      {}};
}

}  // namespace cubinet::jit
