// Records read back: what an entry was made of, and how two of them differ. See record_of() in kernel_spec.hpp.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace cubinet::jit {

// The record as JSON where it is that, else as the text that it is. Nested deeper than any record it is left a text:
// writing it out would take stack for each level.
nlohmann::ordered_json record_value(const std::string& record);

struct Difference {
  std::string field;  // "nvrtc", "constants.kStages", "templates.ptx/wgmma.cuh"; "record" where one is no JSON object
  std::string first;  // the value as JSON; empty where that record has no such field
  std::string second;
};

// The fields in which two records differ, in alphabetical order; none when they are the same.
std::vector<Difference> differences(const std::string& first, const std::string& second);

}  // namespace cubinet::jit
