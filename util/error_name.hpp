// The name of an error's code, for people and for JSON.
#pragma once

#include <string_view>

#include "cubinet/error.hpp"

namespace cubinet::util {

// "invalid_argument", as in cubinet/error.hpp; "unknown" for a number that is no code.
std::string_view code_name(ErrorCode code);

}  // namespace cubinet::util
