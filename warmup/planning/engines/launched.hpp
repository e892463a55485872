// The launch command among a user's options.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "util/expected.hpp"
#include "warmup/planning/engines/engine.hpp"
#include "warmup/planning/option_names.hpp"

namespace cubinet::warmup::engines {

// Command lines by the name of their engine; an empty one is not given.
using LaunchTexts = std::map<std::string, std::string, std::less<>>;

// The one that is given, taken apart.
struct Launched {
  const Engine* engine = nullptr;
  std::string option;  // what the user calls it: "--sglang"
  LaunchCommand command;
};

// nullopt: none is given. invalid_argument: more than one, one for an engine that is not known, and what parse_command
// says. All errors begin with the option.
Expected<std::optional<Launched>> read_launch(const LaunchTexts& texts, const OptionNames& names);

// The model's config.json, where the command names a folder that holds one, or the file itself. invalid_argument, and
// what to do, where it names no model or one on a hub.
Expected<std::string> model_of(const Launched& launched, const OptionNames& names);

// The engine's plan for a model, with all notes, each of which begins with the option.
Expected<LaunchPlan> launch_plan(const Launched& launched, const MoeShape& shape);

}  // namespace cubinet::warmup::engines
