// Reading single values from a config.json, with errors that name them.
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

// Of a field or an option: far above any model and engine, and sums and products of two such numbers stay within 64
// bits.
inline constexpr std::int64_t largest_number = std::int64_t{1} << 30;

// An object that describes the language model, and what stands before its keys in messages: "text_config.".
struct Place {
  const nlohmann::json* object;
  std::string prefix;
};
using Places = std::vector<Place>;

// A value, or one for each layer, and the key that gives it.
struct Numbers {
  std::string key;
  std::vector<std::int64_t> values;  // at least one
};

// The member, which may lie in objects within (`path` has dots), or nullptr when it is absent or null.
const nlohmann::json* member(const nlohmann::json& object, std::string_view path);

// The member as text; empty when it is absent or none.
std::string text_at(const nlohmann::json& object, std::string_view path);

// A JSON value on one line, shortened, for messages.
std::string shown(const nlohmann::json& value);

tl::unexpected<Error> wrong_type(const std::string& origin, const std::string& name, const nlohmann::json& value,
                                 const std::string& expected);

// Whether it is a whole number of [lowest, highest]; highest is not negative.
bool is_whole(const nlohmann::json& value, std::int64_t lowest, std::int64_t highest);

enum class Lists : bool { refused, taken };

// What all of the members with one of these keys say, which must be the same; nullopt where none is there. Each is a
// whole number from `lowest`, or where lists are taken one of them from 0 for each layer.
Expected<std::optional<Numbers>> read_agreed(const Places& places, Keys keys, std::int64_t lowest, Lists lists,
                                             const std::string& origin);

}  // namespace cubinet::warmup
