// The subcommands. Each function adds one to the command line, with the action to run. Start reading at main.cpp.
#pragma once

#include <string>

#include "tools/command_line.hpp"

namespace cubinet::tools {

// The exit codes of all subcommands.
enum ExitCode : int {
  exit_done = 0,
  exit_failed = 1,  // failed or partial, as printed; also a cache that cannot be used
  exit_usage = 2,   // refused before any work: a wrong flag, value or model file
};

// The end of every --help.
inline constexpr const char* exit_codes_help =
    "Exit codes: 0 done; 1 failed or partial, the output says what (a cache that cannot be used is 1\n"
    "too); 2 refused before any work (a wrong flag, value or model file).\n"
    "With --json, standard output holds exactly one object, for an error {\"error\": {\"code\", \"message\",\n"
    "\"detail\"}}. Errors and notes are always text on standard error.";

void add_plan(Command root);
void add_warmup(Command root);
void add_cache(Command root);
void add_doctor(Command root);

// The values of --progress-file, --cache, --model and --from of a warmup; empty if not given.
struct WarmupPaths {
  std::string progress_file;
  std::string cache;
  std::string model;
  std::string from;
};

// Writes to the progress file, if that is allowed, that the warmup failed: used when the warmup could not do it,
// because its command line was refused or an exception ended it.
void tell_failed_warmup(const WarmupPaths& paths, const std::string& message);

}  // namespace cubinet::tools
