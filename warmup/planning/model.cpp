#include "warmup/planning/model.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "util/files.hpp"
#include "warmup/planning/config_json.hpp"
#include "warmup/planning/model_fields.hpp"
#include "warmup/planning/model_quantization.hpp"

namespace cubinet::warmup {
namespace {

using Json = nlohmann::json;

// A config.json has a few KiB. A file above this bound was named by mistake.
constexpr std::uint64_t largest_file = std::uint64_t{16} << 20;

// Keys that indicate dense MLPs beside the experts if their value is above the number given here.
constexpr std::array<std::pair<const char*, std::int64_t>, 3> dense_layer_keys{
    {{"first_k_dense_replace", 0}, {"decoder_sparse_step", 1}, {"moe_layer_freq", 1}}};

// The paths of all members that are read below, in the form that parse_config takes.
std::set<std::string, std::less<>> fields() {
  std::vector<std::string> keys{"mlp_only_layers", "model_type", "expert_dtype", std::string(shared_width_key)};
  for (const Keys& some :
       {expert_count_keys(), expert_width_keys(), hidden_keys(), expert_hidden_keys(), activation_keys()}) {
    keys.insert(keys.end(), some.begin(), some.end());
  }
  for (const auto& [key, most] : dense_layer_keys) keys.emplace_back(key);
  for (const char* member : {"", ".quant_method", ".weight_block_size", ".quant_algo", ".moe_quant_algo",
                             ".expert_dtype", ".config_groups", ".ignore", ".modules_to_not_convert"}) {
    keys.push_back(std::string("quantization_config") + member);
  }
  std::set<std::string, std::less<>> all;
  for (const std::string_view place : language_places()) {
    if (!place.empty()) all.emplace(place);
    for (const std::string& key : keys) all.insert(place.empty() ? key : std::string(place) + "." + key);
  }
  return all;
}

tl::unexpected<Error> refuse_model(const std::string& origin, const std::string& message) {
  return fail(ErrorCode::invalid_argument, origin + ": " + message);
}

Expected<Numbers> read_experts(const Json& top, const Places& places, const std::string& origin) {
  auto experts = read_agreed(places, expert_count_keys(), 0, Lists::taken, origin);
  if (!experts) return propagate(experts);
  const std::string none = origin + ": the model has no experts: ";
  if (*experts) {
    const auto& values = (*experts)->values;
    if (std::any_of(values.begin(), values.end(), [](std::int64_t value) { return value > 0; })) return **experts;
    return fail(ErrorCode::unsupported, fmt::format("{}{} is 0", none, (*experts)->key));
  }
  const Keys keys = expert_count_keys();
  std::string message = fmt::format("{}none of {} is there", none, fmt::join(keys.begin(), keys.end(), ", "));
  const auto elsewhere = other_towers(top, {});
  if (!elsewhere.empty()) {
    message += fmt::format(" where its language model is looked for; {} has experts, but is not a known place for them",
                           elsewhere.front());
  }
  return fail(ErrorCode::unsupported, message);
}

// The reason why intermediate_size may be the width of dense MLPs beside the experts; empty if there is none. A value
// of one of these keys that is not a whole number (a list, a string) counts as a reason.
std::string sign_of_dense_layers(const Place& place) {
  const Json& object = *place.object;
  const auto sign = [&](const char* name) {
    return fmt::format("{}{} is {}, so the model may have dense MLPs of that width", place.prefix, name,
                       shown(object.at(name)));
  };
  for (const auto& [name, limit] : dense_layer_keys) {
    const Json* value = member(object, name);
    if (value != nullptr && !is_whole(*value, std::numeric_limits<std::int64_t>::min(), limit)) return sign(name);
  }
  const Json* dense = member(object, "mlp_only_layers");
  if (dense != nullptr && !(dense->is_array() && dense->empty())) return sign("mlp_only_layers");
  for (const std::string_view name : expert_count_keys()) {
    if (name == "num_local_experts" || member(object, name) == nullptr) continue;
    return fmt::format("models that give {}{} have it for dense MLPs", place.prefix, name);
  }
  return {};
}

Expected<Numbers> read_width(const Places& places, const std::string& model_type, const std::string& origin) {
  const auto own = read_agreed(places, expert_width_keys(), 1, Lists::taken, origin);
  if (!own) return propagate(own);
  if (*own) return **own;
  const std::array shared_keys{shared_width_key};
  const auto shared = read_agreed(places, shared_keys, 1, Lists::taken, origin);
  if (!shared) return propagate(shared);
  if (!*shared) return refuse_model(origin, "neither moe_intermediate_size nor intermediate_size is there");
  if (shares_width(model_type)) return **shared;
  for (const Place& place : places) {
    const std::string dense = sign_of_dense_layers(place);
    if (dense.empty()) continue;
    return refuse_model(origin,
                        "moe_intermediate_size is missing, and intermediate_size cannot stand for it: " + dense);
  }
  return **shared;
}

// The size of the experts' input and output.
Expected<KeyedNumber> read_hidden(const Places& places, const std::string& origin) {
  for (const Keys keys : {expert_hidden_keys(), hidden_keys()}) {
    const auto hidden = read_agreed(places, keys, 1, Lists::refused, origin);
    if (!hidden) return propagate(hidden);
    if (*hidden) return KeyedNumber{(*hidden)->values.front(), (*hidden)->key};
  }
  return refuse_model(origin, "hidden_size is missing");
}

// The number of one layer. If all layers have the same number, its key has no index.
KeyedNumber at_layer(const Numbers& numbers, std::size_t layer) {
  const auto& values = numbers.values;
  const bool alike = std::all_of(values.begin(), values.end(), [&](std::int64_t one) { return one == values.front(); });
  if (alike) return {values.front(), numbers.key};
  return {values[layer], fmt::format("{}[{}]", numbers.key, layer)};
}

Expected<std::vector<ExpertShape>> layers_of(const Numbers& experts, const Numbers& widths, const KeyedNumber& hidden,
                                             const std::string& origin) {
  const std::size_t layers = std::max(experts.values.size(), widths.values.size());
  for (const Numbers* numbers : {&experts, &widths}) {
    if (numbers->values.size() == 1 || numbers->values.size() == layers) continue;
    return refuse_model(origin, fmt::format("{} has {} values but {} has {}", experts.key, experts.values.size(),
                                            widths.key, widths.values.size()));
  }
  std::vector<ExpertShape> shapes;
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const ExpertShape shape{at_layer(experts, layer), at_layer(widths, layer), hidden};
    const bool dense = shape.experts.value == 0 || shape.width.value == 0;
    if (!dense && seen.emplace(shape.experts.value, shape.width.value).second) shapes.push_back(shape);
  }
  if (!shapes.empty()) return shapes;
  return fail(ErrorCode::unsupported, fmt::format("{}: the model has no experts: no layer has both {} and {} above 0",
                                                  origin, experts.key, widths.key));
}

// The model_type of the innermost object that has one.
std::string type_of_model(const Json& top, const Places& places) {
  for (auto place = places.rbegin(); place != places.rend(); ++place) {
    std::string type = text_at(*place->object, "model_type");
    if (!type.empty()) return type;
  }
  return text_at(top, "model_type");
}

void read_gate(const Places& places, MoeShape& shape) {
  for (const Place& place : places) {
    for (const std::string_view key : activation_keys()) {
      const std::string activation = text_at(*place.object, key);
      if (activation.empty()) continue;
      const std::string said = fmt::format("{}{} {}", place.prefix, key, activation);
      const Gate gate = gate_of(activation);
      if (gate == Gate::absent) shape.ungated = said;
      if (gate == Gate::unknown) shape.notes.push_back(said + " is unknown; the experts are assumed to have a gate");
      return;
    }
  }
}

void add_notes(const Json& top, const Places& places, MoeShape& shape) {
  if (const auto others = other_towers(top, places); !others.empty()) {
    shape.notes.push_back(
        fmt::format("the plan is the language model's; experts of {} are left out", fmt::join(others, " and of ")));
  }
  if (!shape.model_type.empty() && !is_known_model(shape.model_type)) {
    shape.notes.push_back(
        fmt::format("model_type {} is unknown; compare the shapes with the engine's log", shape.model_type));
  }
  if (auto keys = unknown_expert_keys(places); !keys.empty()) {
    constexpr std::size_t most = 12;  // a file with more unknown keys is not a model's
    if (keys.size() > most) {
      keys[most] = fmt::format("and {} more", keys.size() - most);
      keys.resize(most + 1);
    }
    shape.notes.push_back(
        fmt::format("not understood, and may change the experts' shapes or type: {}", fmt::join(keys, ", ")));
  }
}

// A count on which no shape depends. It is 0 if it is missing or not a valid count.
std::int64_t count_or_0(const Places& places, std::initializer_list<const char*> keys) {
  for (const Place& place : places) {
    for (const char* key : keys) {
      const Json* value = member(*place.object, key);
      if (value != nullptr && is_whole(*value, 1, largest_number)) return value->get<std::int64_t>();
    }
  }
  return 0;
}

// Reads the members that engines decide by; see MoeShape.
void read_traits(const Json& top, Places places, bool has_other_quantization, MoeShape& shape) {
  const Json* list = member(top, "architectures");
  const bool named = list != nullptr && list->is_array() && !list->empty() && list->front().is_string();
  if (named) shape.architecture = list->front().get<std::string>();
  shape.experts_per_token = count_or_0(places, {"num_experts_per_tok", "moe_topk", "num_experts_per_token"});
  shape.shared_experts = count_or_0(places, {"n_shared_experts", "num_shared_experts"});
  shape.shared_width = count_or_0(places, {"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"});
  places.push_back({&top, ""});
  for (const Place& place : places) {
    if (shape.quantization.empty()) shape.quantization = text_at(*place.object, "quantization_config.quant_method");
  }
  if (shape.quantization.empty() && has_other_quantization) shape.quantization = "modelopt";
}

Expected<Json> parse_quantization(const ModelText& text) {
  const auto top = parse_config(text.text, text.origin, {"quantization", "quantization.quant_algo"});
  if (!top) return top;
  const Json* inner = member(*top, "quantization");
  if (inner == nullptr) return *top;
  if (!inner->is_object()) return wrong_type(text.origin, "quantization", *inner, "an object");
  return *inner;
}

Expected<ExpertWeights> weights_of_model(const Json& top, const Places& places, const ModelText& quantization,
                                         const std::string& origin) {
  if (quantization.text.empty()) return read_weights(top, places, nullptr, origin);
  const auto other = parse_quantization(quantization);
  if (!other) return propagate(other);
  return read_weights(top, places, &*other, origin);
}

}  // namespace

Expected<MoeShape> parse_model(const ModelText& config, const ModelText& quantization) {
  const std::string& origin = config.origin;
  const auto top = parse_config(config.text, origin, fields());
  if (!top) return propagate(top);
  const auto places = language_model(*top, origin);
  if (!places) return propagate(places);

  MoeShape shape;
  shape.model_type = type_of_model(*top, *places);
  const auto experts = read_experts(*top, *places, origin);
  if (!experts) return propagate(experts);
  const auto widths = read_width(*places, shape.model_type, origin);
  if (!widths) return propagate(widths);
  const auto hidden = read_hidden(*places, origin);
  if (!hidden) return propagate(hidden);
  auto layers = layers_of(*experts, *widths, *hidden, origin);
  if (!layers) return propagate(layers);
  auto weights = weights_of_model(*top, *places, quantization, origin);
  if (!weights) return propagate(weights);

  shape.layers = *std::move(layers);
  shape.weights = *std::move(weights);
  read_gate(*places, shape);
  read_traits(*top, *places, !quantization.text.empty(), shape);
  add_notes(*top, *places, shape);
  return shape;
}

std::filesystem::path model_file(const std::filesystem::path& path) {
  std::error_code ignored;  // a path that cannot be examined cannot be opened either; the error of opening is reported
  return std::filesystem::is_directory(path, ignored) ? path / "config.json" : path;
}

Expected<MoeShape> read_model(const std::filesystem::path& path) {
  const std::filesystem::path file = model_file(path);
  const auto text = util::read_file(file, largest_file);
  if (!text) return propagate(text);
  const std::filesystem::path beside = file.parent_path() / "hf_quant_config.json";
  std::error_code ignored;
  if (!std::filesystem::exists(beside, ignored)) return parse_model({*text, file.string()});
  const auto quantization = util::read_file(beside, largest_file);
  if (!quantization) return propagate(quantization);
  return parse_model({*text, file.string()}, {*quantization, beside.string()});
}

}  // namespace cubinet::warmup
