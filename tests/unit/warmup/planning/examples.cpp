#include "examples.hpp"

#include <algorithm>
#include <filesystem>

#include "catch.hpp"
#include "warmup/planning/model_problems.hpp"

namespace cubinet::warmup {
namespace {

const std::filesystem::path folder = std::filesystem::path(CUBINET_SOURCE_DIR) / "examples" / "models";

}  // namespace

std::vector<std::string> example_models() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && name != "qwen3-8b-dense") names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  REQUIRE(names.size() >= 10);
  return names;
}

std::vector<Problem> example_problems(const std::string& model, std::int64_t expert_parallel,
                                      const std::vector<DataType>& types) {
  const auto shape = read_model(folder / model / "config.json");
  REQUIRE(shape);
  if (shape->layers.front().experts.value % expert_parallel != 0) return {};
  const auto problems = problems_of(*shape, {expert_parallel, 1}, {Layout::contiguous, Layout::masked}, types);
  REQUIRE(problems);
  return *problems;
}

}  // namespace cubinet::warmup
