#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "warmup/planning/model_fields.hpp"
#include "warmup/planning/model_vocabulary.hpp"

namespace cubinet::warmup {
namespace {

using Json = nlohmann::json;

// No model has more nested levels. Hostile files can have millions.
constexpr int deepest = 4;

// Whether an object with this key, inside the object of a language model, describes another part of the model.
bool is_apart(const std::string& key) {
  constexpr const char* parts[] = {"vision", "visual", "audio",   "talker",       "speech",
                                   "image",  "video",  "sound",   "code",         "encoder",
                                   "text",   "llm",    "thinker", "quantization", "compression"};
  return std::any_of(std::begin(parts), std::end(parts),
                     [&](const char* part) { return key.find(part) != std::string::npos; });
}

// Whether the object has a key for the number of experts.
bool names_experts(const Json& object) {
  const Keys keys = expert_count_keys();
  return std::any_of(keys.begin(), keys.end(), [&](std::string_view key) { return member(object, key) != nullptr; });
}

// Finds the objects that name experts and do not belong to the language model.
class TowerSearch {
 public:
  explicit TowerSearch(const Places& places) : places_(places) {}

  // `own`: the object belongs to the language model. Then so do its inner objects, except those that is_apart() names.
  void look_into(const Json& object, const std::string& path, int depth, bool own) {
    own = own || is_of_language_model(object);
    for (const auto& [key, value] : object.items()) {
      if (!value.is_object()) continue;
      const std::string inner = path.empty() ? key : path + "." + key;
      const bool belongs = own && !is_apart(key);
      if (!belongs && !is_of_language_model(value) && names_experts(value)) {
        found_.push_back(inner);
      } else if (depth < deepest) {
        look_into(value, inner, depth + 1, belongs);
      }
    }
  }
  std::vector<std::string> take() { return std::move(found_); }

 private:
  [[nodiscard]] bool is_of_language_model(const Json& object) const {
    return std::any_of(places_.begin(), places_.end(), [&](const Place& place) { return place.object == &object; });
  }

  const Places& places_;
  std::vector<std::string> found_;
};

bool is_number_or_list(const Json& value) {
  return value.is_number() ||
         (value.is_array() && !value.empty() &&
          std::all_of(value.begin(), value.end(), [](const Json& one) { return one.is_number(); }));
}

// Whether the value names an element type: "fp4", "int8", "bfloat16", "nvfp4", "mxfp8".
bool names_a_type(const Json& value) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  constexpr const char* types[] = {"fp4", "fp8", "FP4", "FP8", "int4", "int8", "INT4", "INT8", "float", "bf16", "fp16"};
  return std::any_of(std::begin(types), std::end(types),
                     [&](const char* type) { return text.find(type) != std::string::npos; });
}

// Whether a value says that experts have no gate: "moe_activation": "relu2", "use_glu": false.
bool tells_of_no_gate(const std::string& key, const Json& value) {
  if (value.is_string()) return gate_of(value.get_ref<const std::string&>()) == Gate::absent;
  const bool names_gate = key.find("glu") != std::string::npos || key.find("gated") != std::string::npos;
  const bool other = key.find("attn") != std::string::npos || key.find("attention") != std::string::npos;
  return value.is_boolean() && !value.get<bool>() && names_gate && !other;
}

bool tells_of_experts(const std::string& key, const Json& value) {
  return (may_concern_experts(key) && (is_number_or_list(value) || names_a_type(value))) ||
         tells_of_no_gate(key, value);
}

// Collects the keys about experts that are not read, each once for all layers.
class Collector {
 public:
  void look_at(const Json& object, const std::string& prefix, const std::string& path, int depth) {
    for (const auto& [key, value] : object.items()) {
      const std::string inner = path + key;
      if (value.is_object()) {
        if (depth < deepest && !is_apart(key)) look_at(value, prefix, inner + ".", depth + 1);
      } else if (value.is_array() && !value.empty() && value.front().is_object()) {
        if (depth < deepest && !is_apart(key)) look_into_list(value, prefix, inner, depth);
      } else if (!is_read(inner) && tells_of_experts(key, value)) {
        if (seen_.insert(inner).second) found_.push_back(fmt::format("{}{} {}", prefix, inner, shown(value)));
      }
    }
  }
  std::vector<std::string> take() { return std::move(found_); }

 private:
  void look_into_list(const Json& list, const std::string& prefix, const std::string& path, int depth) {
    for (const Json& one : list) {
      if (one.is_object()) look_at(one, prefix, path + "[].", depth + 1);
    }
  }

  std::set<std::string> seen_;
  std::vector<std::string> found_;
};

}  // namespace

Expected<Places> language_model(const Json& top, const std::string& origin) {
  Places places;
  for (const std::string_view path : language_places()) {
    const Json* object = path.empty() ? &top : member(top, path);
    if (object == nullptr || (is_container(path) && object->is_object() && !names_experts(*object))) continue;
    if (!object->is_object()) return wrong_type(origin, std::string(path), *object, "an object");
    places.push_back({object, path.empty() ? std::string() : std::string(path) + "."});
  }
  if (places.empty()) places.push_back({&top, ""});
  return places;
}

std::vector<std::string> other_towers(const Json& top, const Places& places) {
  TowerSearch search(places);
  search.look_into(top, "", 0, false);
  return search.take();
}

std::vector<std::string> unknown_expert_keys(const Places& places) {
  Collector collector;
  for (const Place& place : places) collector.look_at(*place.object, place.prefix, "", 0);
  return collector.take();
}

}  // namespace cubinet::warmup
