#include "jit/families/registry.hpp"

#include <algorithm>
#include <concepts>
#include <stdexcept>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "jit/families/shipped_families.hpp"
#include "jit/record.hpp"

namespace cubinet::jit {
namespace {

using Json = nlohmann::ordered_json;

// These read a constant; false when it is of another type or out of range.
bool read(const Json& json, bool& value) {
  if (json.is_boolean()) value = json.get<bool>();
  return json.is_boolean();
}

template <std::signed_integral Number>
bool read(const Json& json, Number& value) {
  if (!json.is_number_integer()) return false;
  const bool fits = json.is_number_unsigned() ? std::in_range<Number>(json.get<std::uint64_t>())
                                              : std::in_range<Number>(json.get<std::int64_t>());
  if (fits) value = json.get<Number>();
  return fits;
}

// The member `name` as text; empty if it is not a text.
std::string text_at(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

const Registry& families() {
  static const Registry all({{.architecture = "sm_90a",
                              .gemms =
                                  {
                                      &bf16_grouped_contiguous(),
                                      &bf16_grouped_masked(),
                                      &fp8_grouped_contiguous(),
                                      &fp8_grouped_masked(),
                                  },
                              .quantization = &fp8_quantization(),
                              .verification = &verification()}});
  return all;
}

const ArchitectureFamilies* Registry::find_architecture(std::string_view name) const {
  const auto found = std::find_if(architectures_.begin(), architectures_.end(),
                                  [&](const ArchitectureFamilies& one) { return one.architecture == name; });
  return found == architectures_.end() ? nullptr : &*found;
}

const Family* Registry::find(std::string_view name, std::string_view architecture) const {
  const ArchitectureFamilies* of = find_architecture(architecture);
  if (of == nullptr) return nullptr;
  for (const GemmFamily* family : of->gemms) {
    if (family->name() == name) return family;
  }
  for (const Family* family : {of->quantization, of->verification}) {
    if (family != nullptr && family->name() == name) return family;
  }
  return nullptr;
}

const Family* Registry::quantization(std::string_view architecture) const {
  const ArchitectureFamilies* of = find_architecture(architecture);
  return of == nullptr ? nullptr : of->quantization;
}

const Family* Registry::verification(std::string_view architecture) const {
  const ArchitectureFamilies* of = find_architecture(architecture);
  return of == nullptr ? nullptr : of->verification;
}

std::optional<KernelSpec> Registry::spec_of(const std::string& record) const {
  const Json json = record_value(record);
  if (!json.is_object()) return std::nullopt;
  const Family* family = find(text_at(json, "family"), text_at(json, "architecture"));
  const auto constants = json.find("constants");
  if (family == nullptr || constants == json.end() || !constants->is_object()) return std::nullopt;
  std::vector<ConstantValue> values;
  for (const Constant& constant : family->constants()) {
    ConstantValue value = constant.initial;
    const auto found = constants->find(constant.name);
    const bool sound = found == constants->end() || std::visit([&](auto& typed) { return read(*found, typed); }, value);
    if (!sound) return std::nullopt;
    values.push_back(value);
  }
  return family->spec(std::move(values));
}

Expected<const GemmFamily*> Registry::for_problem(const Problem& problem, const Target& target) const {
  const auto refuse = [](std::string reason) { return fail(ErrorCode::unsupported, std::move(reason)); };
  if (find_data_type(problem.data_type) == nullptr) {
    return refuse(fmt::format("unknown data type {}", static_cast<int>(problem.data_type)));
  }
  if (find_layout(problem.layout) == nullptr) {
    return refuse(fmt::format("unknown layout {}", static_cast<int>(problem.layout)));
  }
  if (const ArchitectureFamilies* of = find_architecture(target.architecture)) {
    for (const GemmFamily* family : of->gemms) {
      if (family->data_type() == problem.data_type && family->layout() == problem.layout) return family;
    }
  }
  return refuse(fmt::format("there is no {} kernel for {}", operation_name(problem), target.architecture));
}

Expected<void> Registry::can_run(const Problem& problem, const Target& target) const {
  const auto family = for_problem(problem, target);
  if (!family) return propagate(family);
  return (*family)->can_run(problem, target);
}

const GemmFamily& Registry::family_of(const Problem& problem, const Target& target) const {
  const auto family = for_problem(problem, target);
  if (!family) throw std::logic_error(family.error().message);
  return **family;
}

std::vector<Selection> Registry::selections(const Problem& problem, MRange range, const Target& target) const {
  return family_of(problem, target).selections(problem, range, target);
}

KernelSpec Registry::generic(const Problem& problem, const Target& target) const {
  return family_of(problem, target).generic();
}

std::vector<KernelSpec> Registry::companions(const Problem& problem, const Target& target) const {
  return family_of(problem, target).companions();
}

KernelSpec Registry::select(const Problem& problem, std::int64_t m, const Target& target) const {
  return selections(problem, {m, m}, target).front().spec;
}

}  // namespace cubinet::jit
