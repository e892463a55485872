#include "variants.hpp"

#include <charconv>
#include <map>
#include <sstream>

namespace cubinet::bench {
namespace {

using Setter = void (*)(jit::sm90::TileConfig&, std::int32_t);

const std::map<std::string, Setter>& setters() {
  using Config = jit::sm90::TileConfig;
  static const std::map<std::string, Setter> table = {
      {"tokens", [](Config& c, std::int32_t v) { c.block_tokens = v; }},
      {"step", [](Config& c, std::int32_t v) { c.token_step = v; }},
      {"columns", [](Config& c, std::int32_t v) { c.block_columns = v; }},
      {"stages", [](Config& c, std::int32_t v) { c.stages = v; }},
      {"cluster", [](Config& c, std::int32_t v) { c.cluster = v; }},
      {"band", [](Config& c, std::int32_t v) { c.raster_band = v; }},
      {"largest", [](Config& c, std::int32_t v) { c.largest_first = v != 0; }},
      {"prefetch", [](Config& c, std::int32_t v) { c.prefetch_weights = v != 0; }},
      {"on_m", [](Config& c, std::int32_t v) { c.tokens_on_m = v != 0; }},
  };
  return table;
}

Expected<std::pair<std::string, std::int32_t>> parse_field(const std::string& text) {
  const auto equals = text.find('=');
  const std::string key = text.substr(0, equals);
  const std::string digits = equals == std::string::npos ? "" : text.substr(equals + 1);
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (setters().count(key) == 0 || error != std::errc{} || end != digits.data() + digits.size()) {
    return fail(ErrorCode::invalid_argument,
                "--config: \"" + text + "\" is not FIELD=NUMBER; fields:" + variant_fields());
  }
  return std::pair(key, value);
}

}  // namespace

std::string variant_fields() {
  std::string fields;
  for (const auto& entry : setters()) fields += " " + entry.first;
  return fields;
}

jit::sm90::TileConfig Variant::applied_to(jit::sm90::TileConfig selected) const {
  for (const auto& [key, value] : fields) setters().at(key)(selected, value);
  return selected;
}

Expected<Variant> parse_variant(const std::string& text) {
  Variant variant{text, {}, {}};
  const auto at = text.find('@');
  if (at != std::string::npos) variant.filter = text.substr(0, at);
  std::istringstream parts(at == std::string::npos ? text : text.substr(at + 1));
  for (std::string part; std::getline(parts, part, ',');) {
    auto field = parse_field(part);
    if (!field) return propagate(field);
    variant.fields.push_back(std::move(*field));
  }
  if (variant.fields.empty()) return fail(ErrorCode::invalid_argument, "--config: \"" + text + "\" changes nothing");
  return variant;
}

}  // namespace cubinet::bench
