// Tile configurations from the command line, which are compared with the selected one.
#pragma once

#include <string>
#include <vector>

#include "bench_cases.hpp"
#include "jit/sm90/tile_config.hpp"
#include "util/expected.hpp"

namespace cubinet::bench {

// A variant, written "[FILTER@]FIELD=VALUE[,FIELD=VALUE...]". It applies to the cases that match FILTER and changes
// these fields of the selected configuration.
struct Variant {
  std::string label;  // the text of the variant
  std::string filter;
  std::vector<std::pair<std::string, std::int32_t>> fields;

  [[nodiscard]] jit::sm90::TileConfig applied_to(jit::sm90::TileConfig selected) const;
};

// The names of all fields, each after a blank: " band cluster ...".
std::string variant_fields();

// Parses a variant. The error states what is invalid and lists the fields.
Expected<Variant> parse_variant(const std::string& text);

}  // namespace cubinet::bench
