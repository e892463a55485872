// The JSON of plans: the object that `cubinet plan --json` prints, and members of it that other objects share.
#pragma once

#include <string>
#include <vector>

#include "warmup/planning/model_problems.hpp"
#include "warmup/planning/plan.hpp"
#include "warmup/planning/request.hpp"

namespace cubinet::warmup {

// The object that `cubinet plan --json` prints; the command's --help describes its members. `plan` is that of
// `request`. Throws nothing but std::bad_alloc.
std::string plan_json(const ResolvedRequest& request, const Plan& plan);

// The members `derivation` ([{quantity, value, how}]) and `notes` ([text]) of such objects. Throw nothing but
// std::bad_alloc.
std::string derivation_json(const std::vector<Derivation>& derivation);
std::string notes_json(const std::vector<std::string>& notes);

}  // namespace cubinet::warmup
