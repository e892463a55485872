// Derives from an engine's launch command which grouped GEMMs it will run. engine.hpp and launched.hpp are the
// interface of this folder; sglang.hpp and vllm.hpp describe an engine each; arguments.hpp and shell_words.hpp parse
// commands.
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
#include "warmup/planning/engines/arguments.hpp"
#include "warmup/planning/engines/model_facts.hpp"
#include "warmup/planning/model_problems.hpp"

namespace cubinet::warmup::engines {

// The part of a plan that a command determines.
struct LaunchPlan {
  Parallelism parallelism;
  std::vector<Layout> layouts{Layout::contiguous, Layout::masked};  // layouts that the engine launches
  std::optional<DataType> type;                                     // none if the model decides it
  std::vector<Derivation> derivation;                               // of the numbers of `parallelism` and of M
  std::vector<std::string> notes;                                   // for the user, besides LaunchCommand::notes
};

// A parsed command.
struct LaunchCommand {
  std::map<std::string, std::string, std::less<>> environment;  // variables that are set before the program
  Arguments arguments;
  std::string model;  // as the command names it: a folder, a file, or a name on a hub; empty if it names none
  std::vector<std::string> notes;  // about options that are unknown, or whose effect is not considered
};

// A variable of the command's environment as a number; `otherwise` if it is not set. Errors: invalid_argument, which
// names the variable.
Expected<std::int64_t> variable(const LaunchCommand& command, std::string_view name, std::int64_t otherwise);

// An option that can change which GEMMs are launched, and whose effect is not considered.
struct Unfollowed {
  const char* option;
  const char* why;
};

// An engine. To add one, define such an object in a file of its own and list it in engines.cpp.
struct Engine {
  const char* name;   // name of Cubinet's option, without dashes: "sglang"
  const char* title;  // "SGLang"
  const FlagTable& (*flags)();
  // The number of words at the beginning of `words` that start the server: 1 for "sglang.launch_server", 2 for "vllm
  // serve"; 0 if they do not start it.
  std::size_t (*program)(std::span<const std::string> words);
  std::span<const Unfollowed> unfollowed;
  std::string (*model)(const Arguments& arguments);
  Expected<LaunchPlan> (*plan)(const LaunchCommand& command, const ModelFacts& facts);
};

// All engines, in the order of their names.
std::span<const Engine* const> engines();

// The engine with this name; nullptr if there is none.
const Engine* engine_of(std::string_view name);

// Parses a command. The text may be a script that contains the command, also as an argument of another shell (bash -c
// '...'), and the program may be left out. Errors (invalid_argument): an unclosed quote, an option that is ambiguous or
// lacks its value, options in a file (--config), and a command that starts another engine.
Expected<LaunchCommand> parse_command(const Engine& engine, std::string_view text);

}  // namespace cubinet::warmup::engines
