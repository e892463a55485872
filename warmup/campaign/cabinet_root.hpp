// Where the cabinet is.
#pragma once

#include <string>

#include "util/expected.hpp"
#include "warmup/planning/option_names.hpp"

namespace cubinet::warmup {

// The folder that was given, or is the environment's, as an absolute path. invalid_argument when it is empty: then
// neither names one; or begins with ~, which no shell has expanded.
Expected<std::string> cabinet_root(const std::string& folder, const OptionNames& names);

}  // namespace cubinet::warmup
