// One stored kernel in memory: its bytes, its record and its facts; and the facts as JSON.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "util/expected.hpp"

namespace cubinet::cache {

// Facts that the cabinet stores by name for its users and does not interpret. jit/kernel_facts.hpp defines those of a
// kernel.
class Details {
 public:
  using Texts = std::vector<std::string>;
  using Value = std::variant<std::int64_t, std::string, Texts>;

  // Adds a detail, or replaces the one of this name.
  void set(std::string_view name, Value value);
  // Return the detail if there is one of this type; else 0, an empty text, an empty list.
  [[nodiscard]] std::int64_t number(std::string_view name) const;
  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] const Texts& texts(std::string_view name) const;
  // Null if there is no detail of this name.
  [[nodiscard]] const Value* find(std::string_view name) const;

  // The details as (name, value), in the order of their names.
  [[nodiscard]] const std::vector<std::pair<std::string, Value>>& members() const { return members_; }
  friend bool operator==(const Details&, const Details&) = default;

 private:
  std::vector<std::pair<std::string, Value>> members_;
};

// Information about an entry that is not part of its identity. Stored in the object's footer, so that the index can be
// rebuilt from the objects. The cabinet itself uses these four; everything else is in `details`.
struct Facts {
  std::string arch;          // what the payload runs on; a bundle names it in its table of contents
  std::string compiler;      // name and build of the compiler of the payload; empty in objects of earlier builds
  double compile_ms = 0;     // duration of the compilation
  std::int64_t created = 0;  // seconds since 1970, UTC
  Details details;

  friend bool operator==(const Facts&, const Facts&) = default;
};

struct Object {
  std::string payload;
  std::string record;
  Facts facts;
};

// The details that objects have in this version of the format. Each has its own column in the index.
struct DetailField {
  enum class Type : std::uint8_t { number, text, texts };
  const char* name;
  Type type;
  std::int64_t max = std::numeric_limits<std::int64_t>::max();  // of a number
  bool optional = false;  // a text that is left out if empty, because earlier builds did not write it
};

inline constexpr std::int64_t max_int32 = std::numeric_limits<std::int32_t>::max();
inline constexpr std::array<DetailField, 8> detail_fields = {
    {{.name = "config", .type = DetailField::Type::text, .optional = true},
     {.name = "family", .type = DetailField::Type::text},
     {.name = "k", .type = DetailField::Type::number},
     {.name = "kernel_names", .type = DetailField::Type::texts},
     {.name = "n", .type = DetailField::Type::number},
     {.name = "registers", .type = DetailField::Type::number, .max = max_int32},
     {.name = "smem_bytes", .type = DetailField::Type::number, .max = max_int32},
     {.name = "spill_bytes", .type = DetailField::Type::number, .max = max_int32}}};

inline constexpr std::size_t max_fact_text_bytes = 256;  // of arch, compiler and each text among the details
inline constexpr double max_compile_ms = 1e12;
inline constexpr std::int64_t max_moment = std::int64_t{1} << 40;  // seconds since 1970

// invalid_argument, saying what is wrong, unless the facts have exactly the details of detail_fields, each of its type,
// and every number and text is within its bounds: no number is negative.
Expected<void> check_facts(const Facts& facts);

// The facts as stored in an object's footer: compact JSON with members in alphabetical order, so that equal facts give
// equal bytes. An empty `compiler` and empty optional texts are left out. invalid_argument for a text that is not UTF-8
// and for a compile time that is not a finite number.
Expected<std::string> facts_to_json(const Facts& facts);

// nullopt unless all members but the optional ones exist with their types, and no number is above the maximum of its
// field. Unknown members are ignored. The other bounds are checked by check_facts().
std::optional<Facts> facts_from_json(std::string_view json);

}  // namespace cubinet::cache
