#include "cache/facts_json.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "util/json_text.hpp"

namespace cubinet::cache {
namespace {

using Json = nlohmann::json;

bool read(const Json& object, const char* name, std::string& out) {
  const auto it = object.find(name);
  if (it == object.end() || !it->is_string()) return false;
  out = it->get<std::string>();
  return true;
}

bool read(const Json& object, const char* name, std::int64_t& out) {
  const auto it = object.find(name);
  if (it == object.end() || !it->is_number_integer()) return false;
  if (it->is_number_unsigned() && it->get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
    return false;
  }
  out = it->get<std::int64_t>();
  return true;
}

bool read(const Json& object, const char* name, std::int32_t& out) {
  std::int64_t wide = 0;
  if (!read(object, name, wide)) return false;
  if (wide < std::numeric_limits<std::int32_t>::min() || wide > std::numeric_limits<std::int32_t>::max()) return false;
  out = static_cast<std::int32_t>(wide);
  return true;
}

bool read(const Json& object, const char* name, double& out) {
  const auto it = object.find(name);
  if (it == object.end() || !it->is_number()) return false;
  out = it->get<double>();
  return true;
}

std::optional<std::vector<std::string>> texts(const Json& list) {
  if (!list.is_array()) return std::nullopt;
  std::vector<std::string> result;
  for (const Json& item : list) {
    if (!item.is_string()) return std::nullopt;
    result.push_back(item.get<std::string>());
  }
  return result;
}

Json parse(std::string_view json) { return Json::parse(json.begin(), json.end(), nullptr, false); }

}  // namespace

Expected<std::string> facts_to_json(const Facts& facts) {
  if (!std::isfinite(facts.compile_ms)) return fail(ErrorCode::invalid_argument, "the compile time is not a number");
  bool text = util::is_utf8(facts.arch) && util::is_utf8(facts.config) && util::is_utf8(facts.family) &&
              util::is_utf8(facts.compiler);
  for (const std::string& name : facts.kernel_names) text = text && util::is_utf8(name);
  if (!text) return fail(ErrorCode::invalid_argument, "a text among the entry's facts is not UTF-8");
  std::vector<util::JsonMember> members = {{"arch", util::json_string(facts.arch)},
                                           {"compile_ms", Json(facts.compile_ms).dump()},
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
  const Json object = parse(json);
  if (!object.is_object()) return std::nullopt;
  Facts facts;
  const bool whole = read(object, "arch", facts.arch) && read(object, "compile_ms", facts.compile_ms) &&
                     read(object, "created", facts.created) && read(object, "family", facts.family) &&
                     read(object, "k", facts.k) && read(object, "n", facts.n) &&
                     read(object, "registers", facts.registers) && read(object, "smem_bytes", facts.smem_bytes) &&
                     read(object, "spill_bytes", facts.spill_bytes);
  const auto names = object.find("kernel_names");
  if (!whole || names == object.end()) return std::nullopt;
  if (object.contains("config") && !read(object, "config", facts.config)) return std::nullopt;
  if (object.contains("compiler") && !read(object, "compiler", facts.compiler)) return std::nullopt;
  auto read_names = texts(*names);
  if (!read_names) return std::nullopt;
  facts.kernel_names = std::move(*read_names);
  return facts;
}

std::optional<std::vector<std::string>> texts_from_json(std::string_view json) { return texts(parse(json)); }

}  // namespace cubinet::cache
