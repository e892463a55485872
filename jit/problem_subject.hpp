// A problem as the cabinet records it: text that says all of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cubinet/problem.hpp"

namespace cubinet::jit {

// What an engine on a device of this architecture asks for.
struct ProblemSubject {
  Problem problem;
  std::string architecture;  // "sm_90a"

  friend bool operator==(const ProblemSubject&, const ProblemSubject&) = default;
};

// Canonical: a JSON object with sorted keys and no white space.
std::string to_json(const ProblemSubject& subject);

// Nothing for a text that to_json does not write: one of another build, perhaps. Whether kernels take the problem is
// for can_run to say.
std::optional<ProblemSubject> problem_subject_from(std::string_view json);

}  // namespace cubinet::jit
