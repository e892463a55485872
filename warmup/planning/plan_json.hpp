// A plan as the object that `cubinet plan --json` prints.
#pragma once

#include <string>

#include "warmup/planning/plan.hpp"
#include "warmup/planning/request.hpp"

namespace cubinet::warmup {

// The fields are told in the command's --help. `plan` is that of `request`. Throws std::bad_alloc alone.
std::string plan_json(const ResolvedRequest& request, const Plan& plan);

}  // namespace cubinet::warmup
