#include "jit/kernel_spec.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "jit/families/family.hpp"
#include "util/digest.hpp"
#include "util/json_text.hpp"

namespace cubinet::jit {
namespace {

const char* type_in_source(const ConstantValue& value) {
  static constexpr const char* kTypes[] = {"long long", "int", "bool"};
  return kTypes[value.index()];
}

auto identity_of(const KernelSpec& spec) { return std::tie(spec.family_name(), spec.constants, spec.architecture); }

}  // namespace

std::string text_of(const ConstantValue& value) {
  return std::visit([](auto number) { return fmt::format("{}", number); }, value);
}

const std::string& KernelSpec::family_name() const {
  static const std::string none;
  return family == nullptr ? none : family->name();
}

bool operator==(const KernelSpec& a, const KernelSpec& b) { return identity_of(a) == identity_of(b); }

std::strong_ordering operator<=>(const KernelSpec& a, const KernelSpec& b) { return identity_of(a) <=> identity_of(b); }

std::string describe(const KernelSpec& spec) {
  if (spec.constants.empty()) return spec.family_name();
  const std::string sizes = spec.n == 0 ? "any N, K" : fmt::format("N={} K={}", spec.n, spec.k);
  return fmt::format("{} {} {}", spec.family_name(), sizes, spec.config);
}

std::string template_name(const KernelSpec& spec) { return spec.family_name() + ".cuh"; }

std::string source_of(const KernelSpec& spec) {
  const std::string include = "#include \"" + template_name(spec) + "\"\n";
  if (spec.constants.empty()) return include;
  std::string source = "namespace cubinet::constants {\n";
  for (std::size_t i = 0; i < spec.constants.size(); ++i) {
    const ConstantValue& value = spec.constants[i];
    source +=
        fmt::format("constexpr {} {} = {};\n", type_in_source(value), spec.family->constants()[i].name, text_of(value));
  }
  return source + "}  // namespace cubinet::constants\n" + include;
}

std::vector<std::string> code_options(const KernelSpec& spec) {
  return {
      "--gpu-architecture=" + spec.architecture,
      // Leaves out language features that these templates never use (textures, device-side launches), and with them a
      // fixed share of every compilation.
      "--minimal",
      // Do not search the process's working folder for headers.
      "--no-source-include",
      "--std=c++17",
  };
}

NvrtcInput input_of(const KernelSpec& spec) { return input_of(spec, spec.family->templates()); }

NvrtcInput input_of(const KernelSpec& spec, const std::vector<TemplateFile>& files) {
  return {source_of(spec), included_by(template_name(spec), files), code_options(spec)};
}

std::string record_of(const KernelSpec& spec) { return record_of(spec, input_of(spec)); }

std::string record_of(const KernelSpec& spec, const std::vector<TemplateFile>& files) {
  return record_of(spec, input_of(spec, files));
}

std::string record_of(const KernelSpec& spec, const NvrtcInput& input) {
  std::vector<util::JsonMember> constants, templates;
  for (std::size_t i = 0; i < spec.constants.size(); ++i) {
    constants.emplace_back(spec.family->constants()[i].name, text_of(spec.constants[i]));
  }
  for (const TemplateFile* file : input.headers) templates.emplace_back(file->name, util::json_string(file->digest));
  // Equal inputs give equal bytes: members sorted by name.
  std::sort(constants.begin(), constants.end());
  std::sort(templates.begin(), templates.end());
  return util::json_object({{"architecture", util::json_string(spec.architecture)},
                            {"constants", util::json_object(constants)},
                            {"family", util::json_string(spec.family_name())},
                            {"options", util::json_strings(input.options)},
                            {"source", util::json_string(util::sha256_hex(input.source))},
                            {"templates", util::json_object(templates)}});
}

cache::Key key_of(const std::string& record) { return *cache::Key::from_hex(util::sha256_hex(record)); }

cache::Key key_of(const KernelSpec& spec) { return key_of(record_of(spec)); }

}  // namespace cubinet::jit
