// Reads a config.json: the objects that describe the language model, and single values. Errors name the key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "util/expected.hpp"
#include "warmup/planning/model_vocabulary.hpp"

namespace cubinet::warmup {

// The largest number that a field or an option may have. It is far above those of any model, and sums and products of
// two such numbers fit in 64 bits.
inline constexpr std::int64_t largest_number = std::int64_t{1} << 30;

// An object that describes the language model, and the prefix of its keys in messages: "text_config.".
struct Place {
  const nlohmann::json* object;
  std::string prefix;
};
using Places = std::vector<Place>;

// The objects that describe the language model, at least one: those of language_places() that are present, the top
// level and other containers if they name experts themselves, and the top level if there is no other. Errors
// (invalid_argument): one of them is not an object.
Expected<Places> language_model(const nlohmann::json& top, const std::string& origin);

// The paths of the other objects that name experts, towers such as vision or audio: "talker_config.text_config".
std::vector<std::string> other_towers(const nlohmann::json& top, const Places& places);

// The members of the language model's objects, as "key value", whose names suggest that they describe the experts'
// shape or type, but which the planner does not know. Equal members of several objects are listed once.
std::vector<std::string> unknown_expert_keys(const Places& places);

// One value, or one value per layer, and the key that they come from.
struct Numbers {
  std::string key;
  std::vector<std::int64_t> values;  // at least one
};

// The member at `path`, in which dots separate the keys of nested objects; nullptr if it is absent or null.
const nlohmann::json* member(const nlohmann::json& object, std::string_view path);

// The member if it is a string; else empty.
std::string text_at(const nlohmann::json& object, std::string_view path);

// A JSON value as one line for messages, shortened.
std::string shown(const nlohmann::json& value);

// The error that `name` in `origin` is `value` and not `expected` ("a text").
tl::unexpected<Error> wrong_type(const std::string& origin, const std::string& name, const nlohmann::json& value,
                                 const std::string& expected);

// Whether the value is a whole number in [lowest, highest]. Precondition: highest >= 0.
bool is_whole(const nlohmann::json& value, std::int64_t lowest, std::int64_t highest);

enum class Lists : bool { refused, taken };

// The value of the members with one of these keys, in all places. None if there is no such member. Errors
// (invalid_argument): two members differ, or one is not a whole number >= `lowest`. With Lists::taken a member may also
// be a list of whole numbers >= 0, one per layer.
Expected<std::optional<Numbers>> read_agreed(const Places& places, Keys keys, std::int64_t lowest, Lists lists,
                                             const std::string& origin);

}  // namespace cubinet::warmup
