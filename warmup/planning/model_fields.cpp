#include "warmup/planning/model_fields.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cubinet::warmup {
namespace {

using Json = nlohmann::json;

// A bound far above the number of layers of any model.
constexpr std::size_t most_layers = 4096;

bool is_list(const Json& value) {
  return value.is_array() && !value.empty() && value.size() <= most_layers &&
         std::all_of(value.begin(), value.end(), [](const Json& one) { return is_whole(one, 0, largest_number); });
}

Expected<Numbers> read_numbers(std::string key, const Json& value, std::int64_t lowest, Lists lists,
                               const std::string& origin) {
  if (is_whole(value, lowest, largest_number)) return Numbers{std::move(key), {value.get<std::int64_t>()}};
  if (lists == Lists::taken && is_list(value)) {
    return Numbers{std::move(key), value.get<std::vector<std::int64_t>>()};
  }
  return wrong_type(origin, key, value,
                    fmt::format("a whole number from {} to {}{}", lowest, largest_number,
                                lists == Lists::taken ? ", or one for each layer" : ""));
}

std::string values_text(const Numbers& numbers) {
  return numbers.values.size() == 1 ? fmt::format("{}", numbers.values.front()) : shown(Json(numbers.values));
}

}  // namespace

const Json* member(const Json& object, std::string_view path) {
  const Json* at = &object;
  while (true) {
    const std::size_t dot = path.find('.');
    const auto found = at->find(std::string(path.substr(0, dot)));
    if (found == at->end() || found->is_null()) return nullptr;
    at = &*found;
    if (dot == std::string_view::npos) return at;
    if (!at->is_object()) return nullptr;
    path.remove_prefix(dot + 1);
  }
}

std::string text_at(const Json& object, std::string_view path) {
  const Json* value = member(object, path);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

// A nested value is shown by its type only: writing it out takes stack for each level, and a hostile file can have
// millions of levels.
std::string shown(const Json& value) {
  const auto nested = [](const Json& item) { return item.is_structured() && !item.empty(); };
  if (std::any_of(value.begin(), value.end(), nested)) return fmt::format("a nested {}", value.type_name());
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  constexpr std::size_t longest = 40;
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

tl::unexpected<Error> wrong_type(const std::string& origin, const std::string& name, const Json& value,
                                 const std::string& expected) {
  return fail(ErrorCode::invalid_argument,
              fmt::format("{}: {} is {}, expected {}", origin, name, shown(value), expected));
}

bool is_whole(const Json& value, std::int64_t lowest, std::int64_t highest) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    return number <= static_cast<std::uint64_t>(highest) && static_cast<std::int64_t>(number) >= lowest;
  }
  return value.is_number_integer() && value.get<std::int64_t>() >= lowest && value.get<std::int64_t>() <= highest;
}

Expected<std::optional<Numbers>> read_agreed(const Places& places, Keys keys, std::int64_t lowest, Lists lists,
                                             const std::string& origin) {
  std::optional<Numbers> agreed;
  for (const Place& place : places) {
    for (const std::string_view key : keys) {
      const Json* value = member(*place.object, key);
      if (value == nullptr) continue;
      auto numbers = read_numbers(place.prefix + std::string(key), *value, lowest, lists, origin);
      if (!numbers) return propagate(numbers);
      if (agreed && agreed->values != numbers->values) {
        return fail(ErrorCode::invalid_argument,
                    fmt::format("{}: {} is {} but {} is {}", origin, agreed->key, values_text(*agreed), numbers->key,
                                values_text(*numbers)));
      }
      if (!agreed) agreed = *std::move(numbers);
    }
  }
  return agreed;
}

}  // namespace cubinet::warmup
