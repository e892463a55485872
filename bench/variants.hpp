// Tile configurations given on the command line, to be compared with the selected one.
#pragma once

#include <string>
#include <vector>

#include "bench_cases.hpp"
#include "jit/sm90/tile_config.hpp"
#include "util/expected.hpp"

namespace cubinet::bench {

// "[FILTER@]FIELD=VALUE[,FIELD=VALUE...]": for the cases that match FILTER, the selected configuration with these
// fields changed.
struct Variant {
  std::string label;  // as given
  std::string filter;
  std::vector<std::pair<std::string, std::int32_t>> fields;

  [[nodiscard]] jit::sm90::TileConfig applied_to(jit::sm90::TileConfig selected) const;
};

// The fields, each after a blank: " band cluster ...".
std::string variant_fields();

// An error names what cannot be read and lists the fields.
Expected<Variant> parse_variant(const std::string& text);

}  // namespace cubinet::bench
