#include "warmup/planning/engines/launched.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace cubinet::warmup::engines {
namespace {

tl::unexpected<Error> with_option(Error error, const std::string& option) {
  error.message = fmt::format("{}: {}", option, error.message);
  return fail(std::move(error));
}

}  // namespace

Expected<std::optional<Launched>> read_launch(const LaunchTexts& texts, const OptionNames& names) {
  for (const auto& [name, text] : texts) {
    if (text.empty() || engine_of(name) != nullptr) continue;
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}{}: no engine of this name is known", names.engine_prefix, name));
  }
  std::optional<Launched> found;
  for (const Engine* engine : engines()) {
    const auto text = texts.find(engine->name);
    if (text == texts.end() || text->second.empty()) continue;
    std::string option = std::string(names.engine_prefix) + engine->name;
    if (found) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{} and {}: give one launch command", found->option, option));
    }
    auto command = parse_command(*engine, text->second);
    if (!command) return with_option(std::move(command).error(), option);
    found = Launched{engine, std::move(option), *std::move(command)};
  }
  return found;
}

Expected<std::string> model_of(const Launched& launched, const OptionNames& names) {
  const auto refuse = [&](const std::string& what) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: {}; give the model's config.json with {}", launched.option, what, names.model));
  };
  const std::string& model = launched.command.model;
  if (model.empty()) return refuse("the command names no model");
  const std::filesystem::path path(model);
  std::error_code error;  // a path that cannot be examined counts as absent
  if (path.extension() == ".json" && std::filesystem::is_regular_file(path, error)) return model;
  if (std::filesystem::is_regular_file(path / "config.json", error)) return (path / "config.json").string();
  return refuse(fmt::format("there is no folder '{}' with a config.json here", model));
}

Expected<LaunchPlan> launch_plan(const Launched& launched, const MoeShape& shape) {
  auto plan = launched.engine->plan(launched.command, facts_of(shape));
  if (!plan) return with_option(std::move(plan).error(), launched.option);
  const auto& notes = launched.command.notes;
  plan->notes.insert(plan->notes.begin(), notes.begin(), notes.end());
  for (std::string& note : plan->notes) note = fmt::format("{}: {}", launched.option, note);
  return plan;
}

}  // namespace cubinet::warmup::engines
