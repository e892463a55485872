// Resolves a request to problems, and makes all checks that do not depend on the interface that the request came
// through.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cubinet/request.hpp"
#include "util/expected.hpp"
#include "warmup/planning/model_problems.hpp"
#include "warmup/planning/option_names.hpp"
#include "warmup/planning/plan.hpp"

namespace cubinet::warmup {

// The values of a comma-separated list, each once, in the order of the text; none for an empty text. Errors:
// invalid_argument, which names `option`, for a value other than "bf16" and "fp8", or "contiguous" and "masked".
Expected<std::vector<DataType>> parse_types(const std::string& text, const char* option);
Expected<std::vector<Layout>> parse_layouts(const std::string& text, const char* option);

// The result of resolving a request.
struct ResolvedRequest {
  PlanRequest plan;
  std::vector<std::string> notes;      // for the user, about the source of the problems; one line each
  std::vector<Derivation> derivation;  // how the problems follow from the model; empty without a model
};

// Checks that the fields are consistent, and reads the model or the recorded problems if the request names them.
// Precondition: with `recorded`, `recorded_from` is not empty. Errors name the file, or the field as `names` calls it.
Expected<ResolvedRequest> resolve(const Request& request, const OptionNames& names);

// Advice for a size that kernels of `type` do not support, as the end of a message: "; pad K to 128", where `name` is
// "K". Empty if they support it.
std::string padding_advice(DataType type, std::int64_t size, const char* name);

}  // namespace cubinet::warmup
