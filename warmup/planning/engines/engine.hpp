// What an engine's launch command says of the grouped GEMMs that it will ask for. Headers of this folder: engine.hpp is
// all that others need; sglang.hpp and vllm.hpp are an engine each; arguments.hpp and shell_words.hpp read commands.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cubinet/problem.hpp"
#include "util/expected.hpp"
#include "warmup/planning/derivation.hpp"
#include "warmup/planning/engines/arguments.hpp"
#include "warmup/planning/engines/model_facts.hpp"
#include "warmup/planning/model_problems.hpp"

namespace cubinet::warmup::engines {

// What a command decides of a plan.
struct LaunchPlan {
  Parallelism parallelism;
  std::vector<Layout> layouts{Layout::contiguous, Layout::masked};  // those that the engine launches
  std::optional<DataType> type;                                     // where the command decides it, and not the model
  std::vector<Derivation> derivation;                               // the numbers of `parallelism`, and what M can be
  std::vector<std::string> notes;  // what a user should know besides the command's own notes
};

// A command taken apart.
struct LaunchCommand {
  std::map<std::string, std::string, std::less<>> environment;  // the assignments in front of the program
  Arguments arguments;
  std::string model;  // as the command names it: a folder, a file, or a name on a hub; empty: it names none
  std::vector<std::string> notes;  // options that are unknown, or known and not followed
};

// A variable of the command's environment as a number; `otherwise` where it is not set. Errors name it.
Expected<std::int64_t> variable(const LaunchCommand& command, std::string_view name, std::int64_t otherwise);

// An option that may change what is launched in a way that is not followed here.
struct Unfollowed {
  const char* option;
  const char* why;
};
// An engine. A further one is a file with such an object, and a line in engines.cpp.
struct Engine {
  const char* name;   // of our option, without dashes: "sglang"
  const char* title;  // "SGLang"
  const FlagTable& (*flags)();
  // How many of the words that `words` begins with start the server: 1 for "sglang.launch_server", 2 for "vllm serve";
  // 0: they do not.
  std::size_t (*program)(std::span<const std::string> words);
  std::span<const Unfollowed> unfollowed;
  std::string (*model)(const Arguments& arguments);
  Expected<LaunchPlan> (*plan)(const LaunchCommand& command, const ModelFacts& facts);
};

// All of them, in the order of their names.
std::span<const Engine* const> engines();

// The engine of this name; nullptr: none.
const Engine* engine_of(std::string_view name);

// Takes a command apart: it may stand in a script, also one for another shell (bash -c '...'), and the program itself
// may be missing. Errors (invalid_argument): an unclosed quote, an option without value or ambiguous, options in a file
// (--config), and a command that starts another engine.
Expected<LaunchCommand> parse_command(const Engine& engine, std::string_view text);

}  // namespace cubinet::warmup::engines
