#include "jit/problem_subject.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "jit/kernel_spec.hpp"

namespace cubinet::jit {

std::string to_json(const ProblemSubject& subject) {
  const Problem& problem = subject.problem;
  return fmt::format(R"({{"arch":{},"dtype":"{}","groups":{},"k":{},"layout":"{}","n":{}}})",
                     nlohmann::json(subject.architecture).dump(), data_type_name(problem.data_type), problem.groups,
                     problem.k, layout_name(problem.layout), problem.n);
}

std::optional<ProblemSubject> problem_subject_from(std::string_view json) {
  try {
    const auto read = nlohmann::json::parse(json);
    ProblemSubject subject;
    Problem& problem = subject.problem;
    read.at("arch").get_to(subject.architecture);
    problem.data_type = read.at("dtype") == "fp8" ? DataType::fp8 : DataType::bf16;
    problem.layout = read.at("layout") == "masked" ? Layout::masked : Layout::contiguous;
    read.at("groups").get_to(problem.groups);
    read.at("k").get_to(problem.k);
    read.at("n").get_to(problem.n);
    if (to_json(subject) != json) return std::nullopt;
    return subject;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace cubinet::jit
