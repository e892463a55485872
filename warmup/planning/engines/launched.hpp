// The engine's launch command that a user gave with a request.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "util/expected.hpp"
#include "warmup/planning/engines/engine.hpp"
#include "warmup/planning/option_names.hpp"

namespace cubinet::warmup::engines {

// Commands by the name of their engine. An empty command counts as not given.
using LaunchTexts = std::map<std::string, std::string, std::less<>>;

// The command that was given, parsed.
struct Launched {
  const Engine* engine = nullptr;
  std::string option;  // name of the option for messages: "--sglang"
  LaunchCommand command;
};

// nullopt: none is given. invalid_argument: more than one, one for an unknown engine, and the errors of parse_command.
// All errors begin with the option.
Expected<std::optional<Launched>> read_launch(const LaunchTexts& texts, const OptionNames& names);

// The path of the model's config.json, if the command names a folder that contains one, or the file itself. Errors:
// invalid_argument, with advice, if the command names no model or a model on a hub.
Expected<std::string> model_of(const Launched& launched, const OptionNames& names);

// The engine's plan for a model, with all notes. Each note begins with the option.
Expected<LaunchPlan> launch_plan(const Launched& launched, const MoeShape& shape);

}  // namespace cubinet::warmup::engines
