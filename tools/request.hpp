// The options for what to plan, shared by all commands that plan.
#pragma once

#include <string>
#include <vector>

#include "tools/command_line.hpp"
#include "util/expected.hpp"
#include "warmup/planning/request.hpp"

namespace cubinet::tools {

// The request, with the options that are texts: resolve() reads them into the request's own fields.
struct RequestOptions : Request {
  std::vector<std::string> shapes;  // bf16 where no type is given
  std::string types;                // --dtype
  std::string layouts;              // --layout
};

// What --help of these subcommands says about types, below the example.
inline constexpr const char* types_help =
    "Without --dtype a model is planned in fp8 if its experts are stored as FP8 in blocks of 128 x 128, else\n"
    "in bf16, with a note if they are stored in a form that no kernel takes.\n";

// Adds the options to a subcommand and returns them; `options` must outlive it.
std::vector<Option> add_request_options(Command command, RequestOptions& options);

// See warmup::resolve. `cache` is what --cache says of the cabinet whose recorded problems are meant; empty: nothing.
Expected<warmup::ResolvedRequest> resolve(const RequestOptions& options, const std::string& cache = {});

}  // namespace cubinet::tools
