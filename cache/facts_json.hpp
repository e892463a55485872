// The facts of an entry as they stand in an object's footer: one JSON object with a member for each field of Facts.
// An empty `config` is left out, as builds did that knew none.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cache/cabinet.hpp"

namespace cubinet::cache {

// Compact JSON with its members in alphabetical order: equal facts give equal bytes. invalid_argument for a text that
// is not UTF-8 and for a compile time that is not a finite number.
Expected<std::string> facts_to_json(const Facts& facts);

// Nothing unless every field but `config` is there, each with its type and range. Members that are not known are
// ignored.
std::optional<Facts> facts_from_json(std::string_view json);

// What stands in a column of its own: ["name", ...]. Nothing unless it is a list of texts.
std::optional<std::vector<std::string>> texts_from_json(std::string_view json);

}  // namespace cubinet::cache
