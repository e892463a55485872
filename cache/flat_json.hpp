// Reads JSON whose values are numbers, texts and lists of texts, without building a tree of values: destroying a tree
// of nlohmann::json needs memory, and without memory it ends the process (util/json_text.hpp writes JSON without a tree
// for the same reason).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cubinet::cache {

using Texts = std::vector<std::string>;

// monostate: a value of another kind, or a number beyond 64 bits.
using FlatValue = std::variant<std::monostate, std::int64_t, double, std::string, Texts>;

// Returns the members of an object; if a name occurs twice, the last value. nullopt if the text is not a JSON object.
std::optional<std::map<std::string, FlatValue>> read_flat_object(std::string_view json);

// Returns a list of texts. nullopt if the text is anything else.
std::optional<Texts> read_texts(std::string_view json);

}  // namespace cubinet::cache
