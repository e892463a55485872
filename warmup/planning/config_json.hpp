// Strict reading of a configuration's JSON.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "util/expected.hpp"

namespace cubinet::warmup {

// The JSON object that is the whole of `text`; `origin` names it in errors. Errors, each on one line, where possible
// with line and column: not JSON, a number beyond what a double holds, anything but blanks after the value, another
// value than an object. And any member of `once` that is given twice: JSON leaves open which of the two counts.
// Members are named from the top by keys with dots between them, five keys at most: "text_config.hidden_size".
// Outside of texts, NaN, Infinity and -Infinity, as Python's json writes them, are read as null.
Expected<nlohmann::json> parse_config(std::string_view text, const std::string& origin,
                                      const std::set<std::string, std::less<>>& once);

}  // namespace cubinet::warmup
