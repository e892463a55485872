#include "cache/facts_json.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

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

// Written as text, and not as a tree of values that is built, sorted and taken down: a listing does this for each row.
void append(std::string& out, std::int64_t value) { out += std::to_string(value); }

void append(std::string& out, double value) { out += Json(value).dump(); }

// Throws Json::exception for what is not UTF-8.
void append(std::string& out, const std::string& text) {
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; });
  if (plain) {
    out.append(1, '"').append(text).append(1, '"');
  } else {
    out += Json(text).dump();
  }
}

void append(std::string& out, const std::vector<std::string>& items) {
  out += '[';
  for (const std::string& item : items) {
    if (&item != &items.front()) out += ',';
    append(out, item);
  }
  out += ']';
}

Json parse(std::string_view json) { return Json::parse(json.begin(), json.end(), nullptr, false); }

}  // namespace

Expected<std::string> facts_to_json(const Facts& facts) {
  if (!std::isfinite(facts.compile_ms)) return fail(ErrorCode::invalid_argument, "the compile time is not a number");
  std::string json = "{";
  const auto member = [&json](const char* name, const auto& value) {
    json.append(json.size() == 1 ? "\"" : ",\"").append(name).append("\":");
    append(json, value);
  };
  try {
    member("arch", facts.arch);
    member("compile_ms", facts.compile_ms);
    if (!facts.config.empty()) member("config", facts.config);
    member("created", facts.created);
    member("family", facts.family);
    member("k", facts.k);
    member("kernel_names", facts.kernel_names);
    member("n", facts.n);
    member("registers", std::int64_t{facts.registers});
    member("smem_bytes", std::int64_t{facts.smem_bytes});
    member("spill_bytes", std::int64_t{facts.spill_bytes});
    return json + '}';
  } catch (const Json::exception&) {
    return fail(ErrorCode::invalid_argument, "a text among the entry's facts is not UTF-8");
  }
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
  auto read_names = texts(*names);
  if (!read_names) return std::nullopt;
  facts.kernel_names = std::move(*read_names);
  return facts;
}

std::string texts_to_json(const std::vector<std::string>& items) {
  return Json(items).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<std::vector<std::string>> texts_from_json(std::string_view json) { return texts(parse(json)); }

}  // namespace cubinet::cache
