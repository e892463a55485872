#include "cache/object.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cache/flat_json.hpp"
#include "util/json_text.hpp"

namespace cubinet::cache {
namespace {

using Type = DetailField::Type;
using Members = std::map<std::string, FlatValue>;

auto invalid(std::string message) { return fail(ErrorCode::invalid_argument, std::move(message)); }

// Takes the value of a member that has this type. False when there is none.
template <class Value>
bool take(Members& members, const char* name, Value& out) {
  const auto it = members.find(name);
  auto* const value = it == members.end() ? nullptr : std::get_if<Value>(&it->second);
  if (value != nullptr) out = std::move(*value);
  return value != nullptr;
}

bool take_real(Members& members, const char* name, double& out) {
  std::int64_t whole = 0;
  if (!take(members, name, whole)) return take(members, name, out);
  out = static_cast<double>(whole);
  return true;
}

template <class Value>
bool take_detail(Members& members, const char* name, Details& details) {
  Value value{};
  if (!take(members, name, value)) return false;
  details.set(name, std::move(value));
  return true;
}

// False when the detail is missing or has another type, or a number is above its maximum.
bool take_detail(Members& members, const DetailField& field, Details& details) {
  if (field.optional && !members.contains(field.name)) return true;
  switch (field.type) {
    case Type::number:
      return take_detail<std::int64_t>(members, field.name, details) && details.number(field.name) <= field.max;
    case Type::text:
      return take_detail<std::string>(members, field.name, details);
    case Type::texts:
      return take_detail<Texts>(members, field.name, details);
  }
  return false;
}

bool is_utf8(const Details::Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return util::is_utf8(*text);
  const auto* texts = std::get_if<Texts>(&value);
  return texts == nullptr ||
         std::all_of(texts->begin(), texts->end(), [](const auto& one) { return util::is_utf8(one); });
}

bool is_left_out(const std::string& name, const Details::Value& value) {
  const auto* const text = std::get_if<std::string>(&value);
  if (text == nullptr || !text->empty()) return false;
  return std::any_of(detail_fields.begin(), detail_fields.end(),
                     [&](const DetailField& field) { return field.optional && field.name == name; });
}

std::string json_of(const Details::Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return fmt::to_string(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return util::json_string(*text);
  return util::json_strings(std::get<Texts>(value));
}

Expected<void> check_detail(const DetailField& field, const Details::Value* value) {
  if (value == nullptr)
    return field.optional ? Expected<void>() : invalid(fmt::format("the facts lack {}", field.name));
  if (value->index() != static_cast<std::size_t>(field.type))
    return invalid(fmt::format("{} has another type", field.name));
  const auto* const number = std::get_if<std::int64_t>(value);
  if (number != nullptr && (*number < 0 || *number > field.max))
    return invalid("a number of the facts is out of bounds");
  const auto* const text = std::get_if<std::string>(value);
  if (text != nullptr && text->size() > max_fact_text_bytes) return invalid("a text of the facts is too long");
  return {};
}

auto position(auto& members, std::string_view name) {
  return std::lower_bound(members.begin(), members.end(), name,
                          [](const auto& member, std::string_view wanted) { return member.first < wanted; });
}

}  // namespace

void Details::set(std::string_view name, Value value) {
  const auto at = position(members_, name);
  if (at != members_.end() && at->first == name) {
    at->second = std::move(value);
  } else {
    members_.emplace(at, std::string(name), std::move(value));
  }
}

const Details::Value* Details::find(std::string_view name) const {
  const auto at = position(members_, name);
  return at != members_.end() && at->first == name ? &at->second : nullptr;
}

std::int64_t Details::number(std::string_view name) const {
  const auto* const value = find(name);
  const auto* const number = value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
  return number == nullptr ? 0 : *number;
}

const std::string& Details::text(std::string_view name) const {
  static const std::string none;
  const auto* const value = find(name);
  const auto* const text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? none : *text;
}

const Details::Texts& Details::texts(std::string_view name) const {
  static const Texts none;
  const auto* const value = find(name);
  const auto* const texts = value == nullptr ? nullptr : std::get_if<Texts>(value);
  return texts == nullptr ? none : *texts;
}

Expected<void> check_facts(const Facts& facts) {
  for (const DetailField& field : detail_fields) {
    if (auto checked = check_detail(field, facts.details.find(field.name)); !checked) return checked;
  }
  for (const auto& member : facts.details.members()) {
    const bool known = std::any_of(detail_fields.begin(), detail_fields.end(),
                                   [&](const DetailField& field) { return field.name == member.first; });
    if (!known) return invalid(fmt::format("the format has no place for the fact {}", member.first));
  }
  if (facts.arch.size() > max_fact_text_bytes || facts.compiler.size() > max_fact_text_bytes) {
    return invalid("a text of the facts is too long");
  }
  const bool bounded =
      facts.created >= 0 && facts.created <= max_moment && facts.compile_ms >= 0 && facts.compile_ms <= max_compile_ms;
  return bounded ? Expected<void>() : invalid("a number of the facts is out of bounds");
}

Expected<std::string> facts_to_json(const Facts& facts) {
  if (!std::isfinite(facts.compile_ms)) return invalid("the compile time is not a number");
  bool text = util::is_utf8(facts.arch) && util::is_utf8(facts.compiler);
  for (const auto& [_, value] : facts.details.members()) text = text && is_utf8(value);
  if (!text) return invalid("a text among the entry's facts is not UTF-8");
  std::vector<util::JsonMember> members = {{"arch", util::json_string(facts.arch)},
                                           {"compile_ms", nlohmann::json(facts.compile_ms).dump()},
                                           {"created", fmt::to_string(facts.created)}};
  if (!facts.compiler.empty()) members.emplace_back("compiler", util::json_string(facts.compiler));
  for (const auto& [name, value] : facts.details.members()) {
    if (!is_left_out(name, value)) members.emplace_back(name, json_of(value));
  }
  std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return util::json_object(members);
}

std::optional<Facts> facts_from_json(std::string_view json) {
  auto members = read_flat_object(json);
  if (!members) return std::nullopt;
  Facts facts;
  if (!take(*members, "arch", facts.arch) || !take_real(*members, "compile_ms", facts.compile_ms) ||
      !take(*members, "created", facts.created)) {
    return std::nullopt;
  }
  if (members->contains("compiler") && !take(*members, "compiler", facts.compiler)) return std::nullopt;
  for (const DetailField& field : detail_fields) {
    if (!take_detail(*members, field, facts.details)) return std::nullopt;
  }
  return facts;
}

}  // namespace cubinet::cache
