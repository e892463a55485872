#include "jit/problems.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cubinet::jit {
namespace {

constexpr std::array kDataTypes{
    DataTypeFacts{DataType::bf16,
                  "bf16",
                  "BF16",
                  {ElementType::bf16, ElementType::bf16, ElementType::bf16, ScaleForm::none, ScaleForm::none}},
    DataTypeFacts{DataType::fp8,
                  "fp8",
                  "FP8",
                  {ElementType::e4m3, ElementType::e4m3, ElementType::bf16, ScaleForm::per_row, ScaleForm::per_block}},
};

constexpr std::array kLayouts{
    LayoutFacts{Layout::contiguous, "contiguous", "m_indices"},
    LayoutFacts{Layout::masked, "masked", "masked_m"},
};

// The first row of `table` for which `is_it` is true; null if there is none.
template <class Table, class Predicate>
auto find_row(const Table& table, const Predicate& is_it) {
  const auto found = std::find_if(table.begin(), table.end(), is_it);
  return found == table.end() ? nullptr : &*found;
}

const DataTypeFacts& facts_of(DataType type) {
  if (const DataTypeFacts* facts = find_data_type(type)) return *facts;
  throw std::logic_error("unknown data type");
}

}  // namespace

std::span<const DataTypeFacts> data_types() { return kDataTypes; }

std::span<const LayoutFacts> layouts() { return kLayouts; }

const DataTypeFacts* find_data_type(DataType type) {
  return find_row(kDataTypes, [&](const DataTypeFacts& facts) { return facts.type == type; });
}

const LayoutFacts* find_layout(Layout layout) {
  return find_row(kLayouts, [&](const LayoutFacts& facts) { return facts.layout == layout; });
}

const char* data_type_name(DataType type) { return facts_of(type).name; }

const char* layout_name(Layout layout) {
  if (const LayoutFacts* facts = find_layout(layout)) return facts->name;
  throw std::logic_error("unknown layout");
}

const Operands& operands_of(DataType type) { return facts_of(type).operands; }

bool has_scales(DataType type) {
  const Operands& operands = operands_of(type);
  return operands.a_scales != ScaleForm::none || operands.b_scales != ScaleForm::none;
}

std::optional<DataType> data_type_named(std::string_view name) {
  const auto* facts = find_row(kDataTypes, [&](const DataTypeFacts& one) { return one.name == name; });
  return facts == nullptr ? std::nullopt : std::optional(facts->type);
}

std::optional<Layout> layout_named(std::string_view name) {
  const auto* facts = find_row(kLayouts, [&](const LayoutFacts& one) { return one.name == name; });
  return facts == nullptr ? std::nullopt : std::optional(facts->layout);
}

std::string operation_name(const Problem& problem) {
  return fmt::format("{}_grouped_{}", data_type_name(problem.data_type), layout_name(problem.layout));
}

std::string describe(const Problem& problem) {
  return fmt::format("{} N={} K={} groups={}", operation_name(problem), problem.n, problem.k, problem.groups);
}

std::string to_json(const ProblemSubject& subject) {
  const Problem& problem = subject.problem;
  return fmt::format(R"({{"arch":{},"dtype":"{}","groups":{},"k":{},"layout":"{}","n":{}}})",
                     nlohmann::json(subject.architecture).dump(), data_type_name(problem.data_type), problem.groups,
                     problem.k, layout_name(problem.layout), problem.n);
}

std::optional<ProblemSubject> problem_subject_from(std::string_view json) {
  try {
    const auto read = nlohmann::json::parse(json);
    const auto type = data_type_named(read.at("dtype").get<std::string>());
    const auto layout = layout_named(read.at("layout").get<std::string>());
    if (!type || !layout) return std::nullopt;
    const ProblemSubject subject{{*type, *layout, read.at("n").get<std::int64_t>(), read.at("k").get<std::int64_t>(),
                                  read.at("groups").get<std::int32_t>()},
                                 read.at("arch").get<std::string>()};
    if (to_json(subject) != json) return std::nullopt;
    return subject;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace cubinet::jit
