// From a request to the problems that it names. All checks are here that do not depend on how the request was given.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cubinet/request.hpp"
#include "util/expected.hpp"
#include "warmup/planning/derivation.hpp"
#include "warmup/planning/option_names.hpp"
#include "warmup/planning/plan.hpp"

namespace cubinet::warmup {

// The values that `text` lists with commas between them, each once, in the order of the text. An empty text lists none.
// invalid_argument, which names `option`, for anything else than "bf16" and "fp8", or "contiguous" and "masked".
Expected<std::vector<DataType>> parse_types(const std::string& text, const char* option);
Expected<std::vector<Layout>> parse_layouts(const std::string& text, const char* option);

// What a request leads to.
struct ResolvedRequest {
  PlanRequest plan;
  std::vector<std::string> notes;      // what the user should know of the source of the problems, one line each
  std::vector<Derivation> derivation;  // how the model's numbers lead to those of the problems; empty without a model
};

// Checks that the fields fit together, and reads the model, if one is named, or the recorded problems. Precondition:
// with `recorded`, `recorded_from` is not empty. Errors name the field, as `names` calls it, or the file.
Expected<ResolvedRequest> resolve(const Request& request, const OptionNames& names);

// How a size that kernels of `type` do not take is mended, for the end of a message: "; padding K to 128 mends it",
// where `padding` is "padding K". Empty when they take it.
std::string padding_mend(DataType type, std::int64_t size, const char* padding);

}  // namespace cubinet::warmup
