#include "cache/facts_json.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cache/flat_json.hpp"
#include "util/json_text.hpp"

namespace cubinet::cache {
namespace {

using Members = std::map<std::string, FlatValue>;

// The value of a member that has this type.
template <class Type>
bool read(const Members& object, const char* name, Type& out) {
  const auto it = object.find(name);
  const auto* const value = it == object.end() ? nullptr : std::get_if<Type>(&it->second);
  if (value != nullptr) out = *value;
  return value != nullptr;
}

bool read(const Members& object, const char* name, std::int32_t& out) {
  std::int64_t wide = 0;
  if (!read(object, name, wide)) return false;
  if (wide < std::numeric_limits<std::int32_t>::min() || wide > std::numeric_limits<std::int32_t>::max()) return false;
  out = static_cast<std::int32_t>(wide);
  return true;
}

bool read_number(const Members& object, const char* name, double& out) {
  std::int64_t whole = 0;
  if (!read(object, name, whole)) return read(object, name, out);
  out = static_cast<double>(whole);
  return true;
}

}  // namespace

Expected<std::string> facts_to_json(const Facts& facts) {
  if (!std::isfinite(facts.compile_ms)) return fail(ErrorCode::invalid_argument, "the compile time is not a number");
  bool text = util::is_utf8(facts.arch) && util::is_utf8(facts.config) && util::is_utf8(facts.family) &&
              util::is_utf8(facts.compiler);
  for (const std::string& name : facts.kernel_names) text = text && util::is_utf8(name);
  if (!text) return fail(ErrorCode::invalid_argument, "a text among the entry's facts is not UTF-8");
  std::vector<util::JsonMember> members = {{"arch", util::json_string(facts.arch)},
                                           {"compile_ms", nlohmann::json(facts.compile_ms).dump()},
                                           {"created", fmt::to_string(facts.created)},
                                           {"family", util::json_string(facts.family)},
                                           {"k", fmt::to_string(facts.k)},
                                           {"kernel_names", util::json_strings(facts.kernel_names)},
                                           {"n", fmt::to_string(facts.n)},
                                           {"registers", fmt::to_string(facts.registers)},
                                           {"smem_bytes", fmt::to_string(facts.smem_bytes)},
                                           {"spill_bytes", fmt::to_string(facts.spill_bytes)}};
  // Ascending, as all of them.
  if (!facts.config.empty()) members.insert(members.begin() + 2, {"config", util::json_string(facts.config)});
  if (!facts.compiler.empty()) members.insert(members.begin() + 2, {"compiler", util::json_string(facts.compiler)});
  return util::json_object(members);
}

std::optional<Facts> facts_from_json(std::string_view json) {
  const auto object = read_flat_object(json);
  if (!object) return std::nullopt;
  Facts facts;
  const bool whole = read(*object, "arch", facts.arch) && read_number(*object, "compile_ms", facts.compile_ms) &&
                     read(*object, "created", facts.created) && read(*object, "family", facts.family) &&
                     read(*object, "k", facts.k) && read(*object, "kernel_names", facts.kernel_names) &&
                     read(*object, "n", facts.n) && read(*object, "registers", facts.registers) &&
                     read(*object, "smem_bytes", facts.smem_bytes) && read(*object, "spill_bytes", facts.spill_bytes);
  if (!whole) return std::nullopt;
  if (object->contains("config") && !read(*object, "config", facts.config)) return std::nullopt;
  if (object->contains("compiler") && !read(*object, "compiler", facts.compiler)) return std::nullopt;
  return facts;
}

std::optional<std::vector<std::string>> texts_from_json(std::string_view json) { return read_texts(json); }

}  // namespace cubinet::cache
