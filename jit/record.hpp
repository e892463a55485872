// Reads records and compares them. record_of() in kernel_spec.hpp writes them.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace cubinet::jit {

// Parses the record as JSON. If it is not JSON, or nested deeper than any record, the result is the text as a JSON
// string: writing deeply nested JSON would need stack for each level.
nlohmann::ordered_json record_value(const std::string& record);

struct Difference {
  // "nvrtc", "constants.kStages" or "templates.ptx/wgmma.cuh"; "record" if one of the records is not a JSON object.
  std::string field;
  std::string first;  // the value as JSON; empty if that record has no such field
  std::string second;
};

// The fields in which two records differ, in alphabetical order; empty if they are the same.
std::vector<Difference> differences(const std::string& first, const std::string& second);

}  // namespace cubinet::jit
