// The options that describe a request, shared by all commands that plan.
#pragma once

#include <string>
#include <vector>

#include "tools/command_line.hpp"
#include "util/expected.hpp"
#include "warmup/planning/request.hpp"

namespace cubinet::tools {

// A request, and the options that resolve() parses into the request's fields.
struct RequestOptions : Request {
  std::vector<std::string> shapes;  // bf16 if no type is given
  std::string types;                // --dtype
  std::string layouts;              // --layout
};

// What --help of these subcommands says about types, below the example.
inline constexpr const char* types_help =
    "Without --dtype a model is planned in fp8 if its experts are stored as FP8 in blocks of 128 x 128, else\n"
    "in bf16, with a note if they are stored in a form that no kernel takes.\n";

// Adds the options to a subcommand and returns them; `options` must outlive it.
std::vector<Option> add_request_options(Command command, RequestOptions& options);

// Resolves the options to problems, see warmup::resolve. `cache` is the value of --cache, the cabinet of recorded
// problems; empty if not given.
Expected<warmup::ResolvedRequest> resolve(const RequestOptions& options, const std::string& cache = {});

}  // namespace cubinet::tools
