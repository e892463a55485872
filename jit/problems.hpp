// The tables of data types and layouts: their names, and what a data type means for each operand. Also the text with
// which the cabinet records a problem.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cubinet/problem.hpp"

namespace cubinet::jit {

// The type of an operand's elements. e4m3 is e4m3fn: finite, largest value 448.
enum class ElementType : std::uint8_t { bf16, e4m3 };

constexpr std::int64_t element_bytes(ElementType type) { return type == ElementType::bf16 ? 2 : 1; }

// The FP32 scales of an operand. A scale block is scale_block() elements, see cubinet/scales.hpp.
enum class ScaleForm : std::uint8_t {
  none,
  per_row,    // one for each row and scale block of K
  per_block,  // one for each scale block of N by scale block of K
};

// The operands of a grouped GEMM, D = A * B^T.
struct Operands {
  ElementType a;
  ElementType b;
  ElementType d;
  ScaleForm a_scales;
  ScaleForm b_scales;
};

// A data type of the public interface. A new one is a row of the table in problems.cpp.
struct DataTypeFacts {
  DataType type;
  const char* name;   // in options, records and JSON: "bf16"
  const char* title;  // in messages: "BF16"
  Operands operands;
};

// A layout of the public interface. A new one is a row of the table in problems.cpp.
struct LayoutFacts {
  Layout layout;
  const char* name;      // "contiguous"
  const char* grouping;  // name of the argument that assigns rows to groups: "m_indices"
};

std::span<const DataTypeFacts> data_types();
std::span<const LayoutFacts> layouts();

// Null if the value is not an enumerator.
const DataTypeFacts* find_data_type(DataType type);
const LayoutFacts* find_layout(Layout layout);

// These throw std::logic_error if the value is not an enumerator. can_run() refuses such a problem.
const char* data_type_name(DataType type);
const char* layout_name(Layout layout);
const Operands& operands_of(DataType type);
bool has_scales(DataType type);  // whether A or B has scales

// The type or layout with this name; nullopt if there is none.
std::optional<DataType> data_type_named(std::string_view name);
std::optional<Layout> layout_named(std::string_view name);

// "bf16_grouped_masked": the problem's operation, as the launch functions of the C interface name it.
std::string operation_name(const Problem& problem);

// "bf16_grouped_masked N=4096 K=7168 groups=32", for messages.
std::string describe(const Problem& problem);

// A problem that an engine asked for, on a device of this architecture.
struct ProblemSubject {
  Problem problem;
  std::string architecture;  // "sm_90a"

  friend bool operator==(const ProblemSubject&, const ProblemSubject&) = default;
};

// The text by which the cabinet records it: a JSON object with sorted keys and no white space. Equal subjects give
// equal texts.
std::string to_json(const ProblemSubject& subject);

// Parses the text of to_json(). nullopt for any other text, such as one of another version. Does not check can_run().
std::optional<ProblemSubject> problem_subject_from(std::string_view json);

}  // namespace cubinet::jit
