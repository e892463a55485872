#include "warmup/model.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cubinet/scales.hpp"
#include "util/files.hpp"
#include "warmup/config_json.hpp"

namespace cubinet::warmup {
namespace {

using nlohmann::json;

// Far above any model, and small enough that no product of two fields leaves 64 bits.
constexpr std::int64_t largest_field = std::int64_t{1} << 30;

// A configuration is a few KiB; a larger file was named by mistake.
constexpr std::uint64_t largest_file = std::uint64_t{16} << 20;

using Names = std::span<const char* const>;

constexpr std::array expert_fields{"n_routed_experts", "num_experts", "num_local_experts"};
constexpr std::array own_width_fields{"moe_intermediate_size"};
constexpr std::array shared_width_fields{"intermediate_size"};
constexpr std::array hidden_fields{"hidden_size"};

// An object that describes the language model, and what stands before its fields' names in messages.
struct Place {
  const nlohmann::json* object;
  const char* prefix;
};
using Places = std::vector<Place>;

struct Count {
  std::string name;
  std::int64_t value;
};

// Every member that is read below, as parse_config names them.
std::set<std::string, std::less<>> fields() {
  std::set<std::string, std::less<>> all{"text_config"};
  for (const std::string prefix : {"", "text_config."}) {
    for (const char* name : {"n_routed_experts", "num_experts", "num_local_experts", "moe_intermediate_size",
                             "intermediate_size", "hidden_size", "first_k_dense_replace", "decoder_sparse_step",
                             "moe_layer_freq", "mlp_only_layers", "model_type", "quantization_config",
                             "quantization_config.quant_method", "quantization_config.weight_block_size"}) {
      all.insert(prefix + name);
    }
  }
  return all;
}

// The object's member, or nullptr when it is absent or null.
const json* member(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

// A JSON value on one line, shortened, for an error message. What is nested is named by its type alone: writing it out
// takes stack for each level, and a hostile file has millions.
std::string shown(const json& value) {
  const auto nested = [](const json& item) { return item.is_structured() && !item.empty(); };
  if (std::any_of(value.begin(), value.end(), nested)) return fmt::format("a nested {}", value.type_name());
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  constexpr std::size_t longest = 40;
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

tl::unexpected<Error> wrong_type(const std::string& origin, const std::string& name, const json& value,
                                 const std::string& expected) {
  return fail(ErrorCode::invalid_argument,
              fmt::format("{}: {} is {}, expected {}", origin, name, shown(value), expected));
}

bool names_experts(const json& object) {
  return std::any_of(expert_fields.begin(), expert_fields.end(),
                     [&](const char* name) { return member(object, name) != nullptr; });
}

// The objects that describe the language model: `text_config` where there is one, and the top level where it names
// experts itself or is all that there is.
Expected<Places> language_model(const json& top, const std::string& origin) {
  Places places;
  const json* nested = member(top, "text_config");
  if (nested != nullptr && !nested->is_object()) return wrong_type(origin, "text_config", *nested, "an object");
  if (nested == nullptr || names_experts(top)) places.push_back({&top, ""});
  if (nested != nullptr) places.push_back({nested, "text_config."});
  return places;
}

// Whether it is a whole number of [lowest, highest]; highest is not negative.
bool is_whole(const json& value, std::int64_t lowest, std::int64_t highest) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    return number <= static_cast<std::uint64_t>(highest) && static_cast<std::int64_t>(number) >= lowest;
  }
  return value.is_number_integer() && value.get<std::int64_t>() >= lowest && value.get<std::int64_t>() <= highest;
}

// A field that is absent is nullopt; one that is there must be a whole number of [lowest, largest_field].
Expected<std::optional<std::int64_t>> read_count(const Place& place, const char* name, std::int64_t lowest,
                                                 const std::string& origin) {
  const json* value = member(*place.object, name);
  if (value == nullptr) return std::nullopt;
  if (is_whole(*value, lowest, largest_field)) return value->get<std::int64_t>();
  return wrong_type(origin, std::string(place.prefix) + name, *value,
                    fmt::format("a whole number from {} to {}", lowest, largest_field));
}

// What all of the fields with one of these names say, which must be the same; nullopt when there is none.
Expected<std::optional<Count>> read_agreed(const Places& places, Names names, std::int64_t lowest,
                                           const std::string& origin) {
  std::optional<Count> agreed;
  for (const Place& place : places) {
    for (const char* name : names) {
      const auto count = read_count(place, name, lowest, origin);
      if (!count) return tl::make_unexpected(count.error());
      if (!*count) continue;
      if (agreed && agreed->value != **count) {
        return fail(ErrorCode::invalid_argument, fmt::format("{}: {} is {} but {}{} is {}", origin, agreed->name,
                                                             agreed->value, place.prefix, name, **count));
      }
      if (!agreed) agreed = Count{std::string(place.prefix) + name, **count};
    }
  }
  return agreed;
}

Expected<std::int64_t> read_experts(const Places& places, const std::string& origin) {
  const auto experts = read_agreed(places, expert_fields, 0, origin);
  if (!experts) return tl::make_unexpected(experts.error());
  if (!*experts) {
    return fail(ErrorCode::unsupported, fmt::format("{}: the model has no experts: none of {} is there", origin,
                                                    fmt::join(expert_fields, ", ")));
  }
  if ((*experts)->value > 0) return (*experts)->value;
  return fail(ErrorCode::unsupported, fmt::format("{}: the model has no experts: {} is 0", origin, (*experts)->name));
}

// What tells that intermediate_size may be the width of dense MLPs beside the experts; empty when nothing does. A value
// that says neither (a list, a text) may tell of some.
std::string sign_of_dense_layers(const Place& place) {
  const json& object = *place.object;
  const auto sign = [&](const char* name) {
    return fmt::format("{}{} is {}, so the model may have dense MLPs of that width", place.prefix, name,
                       shown(object.at(name)));
  };
  const std::array<std::pair<const char*, std::int64_t>, 3> most{
      {{"first_k_dense_replace", 0}, {"decoder_sparse_step", 1}, {"moe_layer_freq", 1}}};
  for (const auto& [name, limit] : most) {
    const json* value = member(object, name);
    if (value != nullptr && !is_whole(*value, std::numeric_limits<std::int64_t>::min(), limit)) return sign(name);
  }
  const json* dense = member(object, "mlp_only_layers");
  if (dense != nullptr && !(dense->is_array() && dense->empty())) return sign("mlp_only_layers");
  for (const char* name : {"n_routed_experts", "num_experts"}) {
    if (member(object, name) == nullptr) continue;
    return fmt::format("models that give {}{} have it for dense MLPs", place.prefix, name);
  }
  return {};
}

Expected<std::int64_t> read_expert_width(const Places& places, const std::string& origin) {
  const auto own = read_agreed(places, own_width_fields, 1, origin);
  if (!own) return tl::make_unexpected(own.error());
  if (*own) return (*own)->value;
  const auto shared = read_agreed(places, shared_width_fields, 1, origin);
  if (!shared) return tl::make_unexpected(shared.error());
  if (!*shared) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: neither moe_intermediate_size nor intermediate_size is there", origin));
  }
  for (const Place& place : places) {
    const std::string dense = sign_of_dense_layers(place);
    if (dense.empty()) continue;
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: moe_intermediate_size is missing, and intermediate_size cannot stand for it: {}",
                            origin, dense));
  }
  return (*shared)->value;
}

std::string text_of(const json& object, const char* name) {
  const json* value = member(object, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

std::string quantization_text(const std::string& method, const std::string& weight_block) {
  return weight_block.empty() ? method : fmt::format("{} with weight_block_size {}", method, weight_block);
}

struct Quantization {
  std::string prefix;        // where it stands
  std::string method;        // empty: none
  std::string weight_block;  // as JSON; empty: none
};

// What a quantization_config without a quant_method stands for: something that is not FP8 in blocks.
constexpr const char* unnamed_method = "an unnamed method";

Expected<Quantization> quantization_at(const Place& place, const std::string& origin) {
  const std::string name = std::string(place.prefix) + "quantization_config";
  const json* config = member(*place.object, "quantization_config");
  if (config != nullptr && !config->is_object()) return wrong_type(origin, name, *config, "an object");
  if (config == nullptr || config->empty()) return Quantization{place.prefix, {}, {}};
  const json* method = member(*config, "quant_method");
  if (method != nullptr && !method->is_string()) return wrong_type(origin, name + ".quant_method", *method, "a text");
  const json* block = member(*config, "weight_block_size");
  return Quantization{place.prefix, method == nullptr ? unnamed_method : method->get<std::string>(),
                      block == nullptr ? std::string() : shown(*block)};
}

// quantization_config may stand at the top level even where the rest is nested.
Expected<Quantization> read_quantization(const json& top, Places places, const std::string& origin) {
  if (places.front().object != &top) places.push_back({&top, ""});
  Quantization agreed;
  for (const Place& place : places) {
    const auto found = quantization_at(place, origin);
    if (!found) return found;
    if (found->method.empty()) continue;
    if (agreed.method.empty()) agreed = *found;
    if (agreed.method == found->method && agreed.weight_block == found->weight_block) continue;
    const auto described = [](const Quantization& one) {
      return fmt::format("{}quantization_config is {}", one.prefix, quantization_text(one.method, one.weight_block));
    };
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: {} but {}", origin, described(agreed), described(*found)));
  }
  return agreed;
}

// A count that no shape depends on: one that is missing or makes no sense is 0.
std::int64_t count_or_0(const Places& places, std::initializer_list<const char*> names) {
  for (const Place& place : places) {
    for (const char* name : names) {
      const json* value = member(*place.object, name);
      if (value != nullptr && is_whole(*value, 1, largest_field)) return value->get<std::int64_t>();
    }
  }
  return 0;
}

std::string first_architecture(const json& top) {
  const json* list = member(top, "architectures");
  const bool named = list != nullptr && list->is_array() && !list->empty() && list->front().is_string();
  return named ? list->front().get<std::string>() : std::string();
}

}  // namespace

Expected<MoeShape> parse_model(std::string_view text, const std::string& origin) {
  const auto top = parse_config(text, origin, fields());
  if (!top) return tl::make_unexpected(top.error());
  const auto places = language_model(*top, origin);
  if (!places) return tl::make_unexpected(places.error());

  const auto experts = read_experts(*places, origin);
  if (!experts) return tl::make_unexpected(experts.error());
  const auto width = read_expert_width(*places, origin);
  if (!width) return tl::make_unexpected(width.error());
  const auto hidden = read_agreed(*places, hidden_fields, 1, origin);
  if (!hidden) return tl::make_unexpected(hidden.error());
  if (!*hidden) return fail(ErrorCode::invalid_argument, fmt::format("{}: hidden_size is missing", origin));

  auto quantization = read_quantization(*top, *places, origin);
  if (!quantization) return tl::make_unexpected(quantization.error());

  return MoeShape{text_of(*places->front().object, "model_type"),
                  std::move(quantization->method),
                  (*hidden)->value,
                  *width,
                  *experts,
                  std::move(quantization->weight_block),
                  std::move(quantization->prefix),
                  first_architecture(*top),
                  count_or_0(*places, {"num_experts_per_tok", "moe_topk", "num_experts_per_token"}),
                  count_or_0(*places, {"n_shared_experts", "num_shared_experts"}),
                  count_or_0(*places, {"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"})};
}

Expected<MoeShape> read_model(const std::filesystem::path& file) {
  const std::string origin = file.string();
  std::error_code ignored;  // what cannot be examined cannot be opened either, and that error is the better one
  if (std::filesystem::is_directory(file, ignored)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} is a directory; name the model's config.json itself", origin));
  }
  const auto text = util::read_file(file, largest_file);
  if (!text) return tl::make_unexpected(text.error());
  return parse_model(*text, origin);
}

Expected<DataType> weight_type(const MoeShape& shape, const OptionNames& names) {
  if (shape.quantization != "fp8") return DataType::bf16;
  const std::string supported = fmt::format("[{0},{0}]", scale_block());
  if (shape.weight_block == supported) return DataType::fp8;
  const std::string field = shape.quantization_prefix + "quantization_config.weight_block_size";
  const std::string found = shape.weight_block.empty() ? fmt::format("{} is missing (scales are per tensor)", field)
                                                       : fmt::format("{} is {}", field, shape.weight_block);
  return fail(ErrorCode::unsupported,
              fmt::format("{}; the FP8 kernels are for {} alone; {} bf16 plans BF16 kernels of its shapes", found,
                          supported, names.dtype));
}

}  // namespace cubinet::warmup
