#include "jit/record.hpp"

#include <map>
#include <utility>

#include <nlohmann/json.hpp>

namespace cubinet::jit {
namespace {

using Json = nlohmann::ordered_json;
using Fields = std::map<std::string, std::string>;

std::string text_of(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

// All fields of a record by name. A field that is an object gives one entry for each of its members.
Fields fields_of(const Json& record) {
  Fields fields;
  for (const auto& [name, value] : record.items()) {
    if (!value.is_object()) {
      fields[name] = text_of(value);
      continue;
    }
    for (const auto& [member, inner] : value.items()) fields[name + "." + member] = text_of(inner);
  }
  return fields;
}

std::string value_in(const Fields& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string() : found->second;
}

}  // namespace

Json record_value(const std::string& record) {
  constexpr int deepest = 32;
  bool deep = false;
  const auto watch = [&deep](int depth, Json::parse_event_t, Json&) {
    deep = deep || depth > deepest;
    return true;
  };
  Json parsed = Json::parse(record, watch, false);
  return deep || parsed.is_discarded() ? Json(record) : parsed;
}

std::vector<Difference> differences(const std::string& first, const std::string& second) {
  if (first == second) return {};
  const Json one = record_value(first);
  const Json other = record_value(second);
  if (!one.is_object() || !other.is_object()) return {{"record", text_of(one), text_of(other)}};
  const Fields left = fields_of(one);
  const Fields right = fields_of(other);
  Fields names = left;
  names.insert(right.begin(), right.end());
  std::vector<Difference> found;
  for (const auto& [name, value] : names) {
    Difference difference{name, value_in(left, name), value_in(right, name)};
    if (difference.first != difference.second) found.push_back(std::move(difference));
  }
  // Equal fields in another order or with other white space: keys are made from the texts, so the records differ.
  if (found.empty()) found.push_back({"record", first, second});
  return found;
}

}  // namespace cubinet::jit
