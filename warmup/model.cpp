#include "warmup/model.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "util/files.hpp"

namespace cubinet::warmup {
namespace {

using nlohmann::json;

// Far above any model, and small enough that no product of two fields leaves 64 bits.
constexpr std::int64_t largest_field = std::int64_t{1} << 30;

// A configuration is a few KiB; a larger file was named by mistake.
constexpr std::uint64_t largest_file = std::uint64_t{16} << 20;

constexpr std::array expert_fields{"n_routed_experts", "num_experts", "num_local_experts"};

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

// Where the byte at `offset` (counted from 1, as the parser counts) lies, as "line:column".
std::string position(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset == 0 ? 0 : offset - 1, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("{}:{}", line, before.size() - line_start + 1);
}

// The parser's message without its own prefix, "[json.exception...] parse error at line 1, column 2: ".
std::string reason(const json::parse_error& error) {
  const std::string_view what = error.what();
  const std::size_t start = what.find(": ");
  return std::string(start == std::string_view::npos ? what : what.substr(start + 2));
}

Expected<json> parse_object(std::string_view text, const std::string& origin) {
  try {
    json parsed = json::parse(text);
    if (parsed.is_object()) return parsed;
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: expected a JSON object, found {}", origin, parsed.type_name()));
  } catch (const json::parse_error& error) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}:{}: not JSON: {}", origin, position(text, error.byte), reason(error)));
  } catch (const json::exception& error) {  // a number out of range
    return fail(ErrorCode::invalid_argument, fmt::format("{}: not JSON: {}", origin, error.what()));
  }
}

bool names_experts(const json& object) {
  return std::any_of(expert_fields.begin(), expert_fields.end(),
                     [&](const char* name) { return member(object, name) != nullptr; });
}

// The object that describes the language model: `text_config`, unless the top level names experts itself.
const json& language_model(const json& top) {
  const json* nested = member(top, "text_config");
  return nested != nullptr && nested->is_object() && !names_experts(top) ? *nested : top;
}

// A field that is absent is nullopt; one that is there must be a whole number of [lowest, largest_field].
Expected<std::optional<std::int64_t>> read_count(const json& object, const char* name, std::int64_t lowest,
                                                 const std::string& origin) {
  const json* value = member(object, name);
  if (value == nullptr) return std::nullopt;
  const bool fits =
      value->is_number_integer() &&
      (!value->is_number_unsigned() || value->get<std::uint64_t>() <= static_cast<std::uint64_t>(largest_field)) &&
      value->get<std::int64_t>() >= lowest && value->get<std::int64_t>() <= largest_field;
  if (fits) return value->get<std::int64_t>();
  return fail(ErrorCode::invalid_argument, fmt::format("{}: {} is {}, expected a whole number from {} to {}", origin,
                                                       name, shown(*value), lowest, largest_field));
}

Expected<std::int64_t> read_experts(const json& object, const std::string& origin) {
  std::optional<std::int64_t> experts;
  const char* source = nullptr;
  for (const char* name : expert_fields) {
    const auto count = read_count(object, name, 0, origin);
    if (!count) return tl::make_unexpected(count.error());
    if (!*count) continue;
    if (experts && *experts != **count) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{}: {} is {} but {} is {}", origin, source, *experts, name, **count));
    }
    experts = *count;
    source = name;
  }
  if (experts && *experts > 0) return *experts;
  return fail(ErrorCode::unsupported, source != nullptr
                                          ? fmt::format("{}: the model has no experts: {} is 0", origin, source)
                                          : fmt::format("{}: the model has no experts: none of {} is there", origin,
                                                        fmt::join(expert_fields, ", ")));
}

// The field that tells of dense MLPs beside the experts, as "name is value"; empty when none does.
std::string sign_of_dense_layers(const json& object) {
  const auto above = [&](const char* name, std::int64_t most) {
    const json* value = member(object, name);
    return value != nullptr && value->is_number_integer() && value->get<std::int64_t>() > most;
  };
  const auto sign = [&](const char* name) { return fmt::format("{} is {}", name, shown(object.at(name))); };
  if (above("first_k_dense_replace", 0)) return sign("first_k_dense_replace");
  if (above("decoder_sparse_step", 1)) return sign("decoder_sparse_step");
  if (above("moe_layer_freq", 1)) return sign("moe_layer_freq");
  const json* dense = member(object, "mlp_only_layers");
  return dense != nullptr && dense->is_array() && !dense->empty() ? sign("mlp_only_layers") : std::string();
}

Expected<std::int64_t> read_expert_width(const json& object, const std::string& origin) {
  const auto own = read_count(object, "moe_intermediate_size", 1, origin);
  if (!own) return tl::make_unexpected(own.error());
  if (*own) return **own;
  const auto shared = read_count(object, "intermediate_size", 1, origin);
  if (!shared) return tl::make_unexpected(shared.error());
  if (!*shared) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: neither moe_intermediate_size nor intermediate_size is there", origin));
  }
  const std::string dense = sign_of_dense_layers(object);
  if (dense.empty()) return **shared;
  return fail(ErrorCode::invalid_argument,
              fmt::format("{}: moe_intermediate_size is missing, and intermediate_size cannot stand for it: {}, so the "
                          "model has dense MLPs of that width",
                          origin, dense));
}

std::string text_of(const json& object, const char* name) {
  const json* value = member(object, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

// quantization_config stands at the top level even where the rest is nested.
std::string quantization_of(const json& top, const json& model) {
  for (const json* object : {&model, &top}) {
    const json* quantization = member(*object, "quantization_config");
    if (quantization != nullptr && quantization->is_object()) return text_of(*quantization, "quant_method");
  }
  return {};
}

// value / ranks, or an error that names both.
Expected<std::int64_t> share(std::int64_t value, const char* what, std::int64_t ranks, const char* kind) {
  if (ranks < 1) {
    return fail(ErrorCode::invalid_argument, fmt::format("{} parallelism must be at least 1, not {}", kind, ranks));
  }
  if (value % ranks == 0) return value / ranks;
  return fail(ErrorCode::invalid_argument,
              fmt::format("{}, {}, cannot be split evenly over {} parallelism {}", what, value, kind, ranks));
}

}  // namespace

Expected<MoeShape> parse_model(std::string_view text, const std::string& origin) {
  const auto top = parse_object(text, origin);
  if (!top) return tl::make_unexpected(top.error());
  const json& model = language_model(*top);

  const auto experts = read_experts(model, origin);
  if (!experts) return tl::make_unexpected(experts.error());
  const auto width = read_expert_width(model, origin);
  if (!width) return tl::make_unexpected(width.error());
  const auto hidden = read_count(model, "hidden_size", 1, origin);
  if (!hidden) return tl::make_unexpected(hidden.error());
  if (!*hidden) return fail(ErrorCode::invalid_argument, fmt::format("{}: hidden_size is missing", origin));

  return MoeShape{text_of(model, "model_type"), quantization_of(*top, model), **hidden, *width, *experts};
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

Expected<std::vector<Problem>> problems_of(const MoeShape& shape, const Parallelism& parallelism,
                                           const std::vector<Layout>& layouts) {
  const auto groups = share(shape.experts, "the number of experts", parallelism.expert, "expert");
  if (!groups) return tl::make_unexpected(groups.error());
  const auto width = share(shape.expert_width, "the width of an expert", parallelism.tensor, "tensor");
  if (!width) return tl::make_unexpected(width.error());

  std::vector<Problem> problems;
  for (const Layout layout : layouts) {
    const auto on_rank = static_cast<std::int32_t>(*groups);
    problems.push_back({DataType::bf16, layout, 2 * *width, shape.hidden_size, on_rank});
    problems.push_back({DataType::bf16, layout, shape.hidden_size, *width, on_rank});
  }
  return problems;
}

}  // namespace cubinet::warmup
