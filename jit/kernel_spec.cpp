#include "jit/kernel_spec.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "util/digest.hpp"

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

std::vector<Constant> constants_of(const KernelSpec& spec) {
  if (!takes_constants(spec)) return {};
  const TileConfig& config = spec.config;
  return {
      {"kN", static_cast<long long>(spec.n)},
      {"kK", static_cast<long long>(spec.k)},
      {"kBlockTokens", config.block_tokens},
      {"kTokenStep", config.token_step},
      {"kBlockColumns", config.block_columns},
      {"kStages", config.stages},
      {"kCluster", config.cluster},
      {"kRasterBand", config.raster_band},
      {"kLargestFirst", config.largest_first},
      {"kPrefetchWeights", config.prefetch_weights},
      {"kTokensOnM", config.tokens_on_m},
  };
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

std::string record_of(const KernelSpec& spec, const std::string& nvrtc_version,
                      const std::vector<TemplateFile>& files) {
  auto constants = nlohmann::json::object();
  for (const Constant& constant : constants_of(spec)) {
    std::visit([&](auto value) { constants[constant.name] = value; }, constant.value);
  }
  auto templates = nlohmann::json::object();
  for (const TemplateFile* file : included_by(template_name(spec), files)) templates[file->name] = file->digest;
  // nlohmann::json keeps the members of an object sorted by name, and dump() writes no white space.
  return nlohmann::json({{"architecture", spec.architecture},
                         {"constants", constants},
                         {"family", spec.family},
                         {"nvrtc", nvrtc_version},
                         {"options", code_options(spec)},
                         {"source", util::sha256_hex(source_of(spec))},
                         {"templates", templates}})
      .dump();
}

cache::Key key_of(const std::string& record) { return *cache::Key::from_hex(util::sha256_hex(record)); }

}  // namespace cubinet::jit
