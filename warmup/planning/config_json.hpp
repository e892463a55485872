// Parses a configuration file's JSON strictly.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "util/expected.hpp"

namespace cubinet::warmup {

// Parses `text`, which must be one JSON object. NaN, Infinity and -Infinity, which Python's json module writes, are
// read as null. Errors (invalid_argument): not JSON, a number out of the range of double, text after the object, a
// value that is not an object, and a member listed in `once` that appears twice, because JSON does not define which of
// the two is valid. Members are listed by their path from the top, at most five keys: "text_config.hidden_size". A
// message is one line, names `origin` and, where possible, line and column.
Expected<nlohmann::json> parse_config(std::string_view text, const std::string& origin,
                                      const std::set<std::string, std::less<>>& once);

}  // namespace cubinet::warmup
