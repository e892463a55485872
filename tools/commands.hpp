// The subcommands: each function adds one to the command line, with the action that runs it when the user names it.
// Start reading at main.cpp.
#pragma once

#include <string>

#include "tools/command_line.hpp"

namespace cubinet::tools {

// What the command's exit code says, the same for every subcommand.
enum ExitCode : int {
  exit_done = 0,
  exit_failed = 1,  // failed or partial; what was printed says what. A cache that cannot be used is this too
  exit_usage = 2,   // refused before any work: a flag, a value or a model file is wrong
};

// For the end of every --help.
inline constexpr const char* exit_codes_help =
    "Exit codes: 0 done; 1 failed or partial, the output says what (a cache that cannot be used is 1\n"
    "too); 2 refused before any work (a wrong flag, value or model file).\n"
    "With --json, standard output holds exactly one object, for an error\n"
    "{\"error\": {\"code\", \"message\", \"detail\"}}; errors and notes are text on standard error in every case.";

void add_plan(Command root);
void add_warmup(Command root);
void add_cache(Command root);
void add_doctor(Command root);

// What the command line of a warmup gives as --progress-file, --cache, --model and --from; empty where it gives none.
struct WarmupPaths {
  std::string progress_file;
  std::string cache;
  std::string model;
  std::string from;
};

// Says in the progress file, if it may be written, that a warmup failed before it could say so: its command line was
// refused, or it was ended by what it threw.
void tell_failed_warmup(const WarmupPaths& paths, const std::string& message);

}  // namespace cubinet::tools
