#include "jit/kernel_spec.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "jit/record.hpp"
#include "util/digest.hpp"
#include "util/json_text.hpp"

namespace cubinet::jit {
namespace {

constexpr std::array<std::string_view, 1> kArchitectures = {"sm_90a"};

constexpr const char* kVerification = "verification";
constexpr const char* kQuantization = "fp8_quantization";
constexpr std::array<std::string_view, 2> kWithoutConstants = {kVerification, kQuantization};

// The templates see each constant with exactly this type.
using Value = std::variant<long long, int, bool>;

struct Constant {
  const char* name;
  Value value;
};

// Shows `visit` every constant of the code: its name in the templates, and what holds it.
template <class Spec, class Visit>
void for_each_constant(Spec& spec, Visit visit) {
  auto& config = spec.config;
  visit("kN", spec.n);
  visit("kK", spec.k);
  visit("kBlockTokens", config.block_tokens);
  visit("kTokenStep", config.token_step);
  visit("kBlockColumns", config.block_columns);
  visit("kStages", config.stages);
  visit("kCluster", config.cluster);
  visit("kRasterBand", config.raster_band);
  visit("kLargestFirst", config.largest_first);
  visit("kPrefetchWeights", config.prefetch_weights);
  visit("kTokensOnM", config.tokens_on_m);
}

Value value_of(std::int64_t value) { return static_cast<long long>(value); }
Value value_of(std::int32_t value) { return static_cast<int>(value); }
Value value_of(bool value) { return value; }

std::vector<Constant> constants_of(const KernelSpec& spec) {
  std::vector<Constant> constants;
  if (!takes_constants(spec)) return constants;
  for_each_constant(spec, [&](const char* name, auto value) { constants.push_back({name, value_of(value)}); });
  return constants;
}

struct Declaration {
  const char* name;
  std::string operator()(long long value) const { return line("long long", std::to_string(value)); }
  std::string operator()(int value) const { return line("int", std::to_string(value)); }
  std::string operator()(bool value) const { return line("bool", value ? "true" : "false"); }
  [[nodiscard]] std::string line(const char* type, const std::string& value) const {
    return std::string("constexpr ") + type + " " + name + " = " + value + ";\n";
  }
};

// These read a member of a record; false when it is missing, of another type or out of range.
bool read(const nlohmann::ordered_json& json, const char* name, std::string& value) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_string()) return false;
  value = found->get<std::string>();
  return true;
}

bool read(const nlohmann::ordered_json& json, const char* name, bool& value) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_boolean()) return false;
  value = found->get<bool>();
  return true;
}

template <std::signed_integral Number>
bool read(const nlohmann::ordered_json& json, const char* name, Number& value) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number_integer()) return false;
  const bool fits = found->is_number_unsigned() ? std::in_range<Number>(found->get<std::uint64_t>())
                                                : std::in_range<Number>(found->get<std::int64_t>());
  if (fits) value = found->get<Number>();
  return fits;
}

}  // namespace

const char* data_type_name(DataType type) {
  switch (type) {
    case DataType::bf16:
      return "bf16";
    case DataType::fp8:
      return "fp8";
  }
  throw std::logic_error("unknown data type");
}

const char* layout_name(Layout layout) {
  switch (layout) {
    case Layout::contiguous:
      return "contiguous";
    case Layout::masked:
      return "masked";
  }
  throw std::logic_error("unknown layout");
}

std::string family_of(const Problem& problem) {
  return std::string(data_type_name(problem.data_type)) + "_grouped_" + layout_name(problem.layout);
}

KernelSpec spec_for(const Problem& problem, const TileConfig& config, std::string architecture) {
  return {family_of(problem), problem.n, problem.k, config, std::move(architecture)};
}

KernelSpec generic_spec(const Problem& problem, std::string architecture) {
  return {family_of(problem), 0, 0, generic_config(problem), std::move(architecture)};
}

KernelSpec verification_spec(std::string architecture) { return {kVerification, 0, 0, {}, std::move(architecture)}; }

KernelSpec quantization_spec(std::string architecture) { return {kQuantization, 0, 0, {}, std::move(architecture)}; }

Expected<void> check_architecture(const std::string& architecture) {
  if (std::find(kArchitectures.begin(), kArchitectures.end(), architecture) != kArchitectures.end()) return {};
  std::string known;
  for (const std::string_view name : kArchitectures) known += (known.empty() ? "" : ", ") + std::string(name);
  return fail(ErrorCode::unsupported,
              "architecture \"" + architecture + "\" is not supported; the supported ones are: " + known);
}

bool takes_constants(const KernelSpec& spec) {
  return std::find(kWithoutConstants.begin(), kWithoutConstants.end(), spec.family) == kWithoutConstants.end();
}

std::string config_name(const KernelSpec& spec) { return takes_constants(spec) ? name(spec.config) : std::string(); }

std::string describe(const KernelSpec& spec) {
  if (!takes_constants(spec)) return spec.family;
  const std::string sizes =
      spec.n == 0 ? " any N, K " : " N=" + std::to_string(spec.n) + " K=" + std::to_string(spec.k) + " ";
  return spec.family + sizes + config_name(spec);
}

std::string template_name(const KernelSpec& spec) { return spec.family + ".cuh"; }

std::string source_of(const KernelSpec& spec) {
  const std::string include = "#include \"" + template_name(spec) + "\"\n";
  if (!takes_constants(spec)) return include;
  std::string source = "namespace cubinet::constants {\n";
  for (const Constant& constant : constants_of(spec)) source += std::visit(Declaration{constant.name}, constant.value);
  return source + "}  // namespace cubinet::constants\n" + include;
}

std::vector<std::string> code_options(const KernelSpec& spec) {
  return {
      "--gpu-architecture=" + spec.architecture,
      // Without the language features that these templates never use (textures, device-side launches): a fixed share
      // of every compilation less.
      "--minimal",
      // The folder that the process happens to run in must not be searched for headers.
      "--no-source-include",
      "--std=c++17",
  };
}

NvrtcInput input_of(const KernelSpec& spec, const std::vector<TemplateFile>& files) {
  return {source_of(spec), included_by(template_name(spec), files), code_options(spec)};
}

std::string record_of(const KernelSpec& spec, const std::vector<TemplateFile>& files) {
  return record_of(spec, input_of(spec, files));
}

std::string record_of(const KernelSpec& spec, const NvrtcInput& input) {
  std::vector<util::JsonMember> constants, templates;
  for (const Constant& constant : constants_of(spec)) {
    constants.emplace_back(constant.name,
                           std::visit([](auto value) { return fmt::format("{}", value); }, constant.value));
  }
  for (const TemplateFile* file : input.headers) templates.emplace_back(file->name, util::json_string(file->digest));
  // Equal inputs give equal bytes: members sorted by name.
  std::sort(constants.begin(), constants.end());
  std::sort(templates.begin(), templates.end());
  return util::json_object({{"architecture", util::json_string(spec.architecture)},
                            {"constants", util::json_object(constants)},
                            {"family", util::json_string(spec.family)},
                            {"options", util::json_strings(input.options)},
                            {"source", util::json_string(util::sha256_hex(input.source))},
                            {"templates", util::json_object(templates)}});
}

std::optional<KernelSpec> spec_of(const std::string& record) {
  const nlohmann::ordered_json json = record_value(record);
  if (!json.is_object()) return std::nullopt;
  KernelSpec spec;
  const auto constants = json.find("constants");
  if (!read(json, "family", spec.family) || !read(json, "architecture", spec.architecture) || constants == json.end() ||
      !constants->is_object()) {
    return std::nullopt;
  }
  const auto& files = template_files();
  const bool known = std::any_of(files.begin(), files.end(),
                                 [&](const TemplateFile& file) { return file.name == template_name(spec); });
  bool sound = true;
  for_each_constant(spec, [&](const char* name, auto& value) {
    sound = sound && (!constants->contains(name) || read(*constants, name, value));
  });
  if (!known || !sound) return std::nullopt;
  spec.config.scaled = takes_constants(spec) && spec.family.starts_with(data_type_name(DataType::fp8));
  return spec;
}

cache::Key key_of(const std::string& record) { return *cache::Key::from_hex(util::sha256_hex(record)); }

cache::Key key_of(const KernelSpec& spec) { return key_of(record_of(spec)); }

}  // namespace cubinet::jit
