#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "warmup/engines/engine.hpp"
#include "warmup/engines/sglang.hpp"
#include "warmup/engines/shell_words.hpp"
#include "warmup/engines/vllm.hpp"

namespace cubinet::warmup::engines {
namespace {

// The name of a variable that `word` sets: "NCCL_DEBUG=INFO". Empty: it sets none.
std::string assigned(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == 0 || equals == std::string::npos || (word.front() >= '0' && word.front() <= '9')) return {};
  const std::string name = word.substr(0, equals);
  const auto is_of_name = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return std::all_of(name.begin(), name.end(), is_of_name) ? name : std::string();
}

std::vector<std::string> notes_on(const Engine& engine, const Arguments& arguments) {
  std::vector<std::string> notes;
  for (const std::string& option : arguments.unknown) {
    notes.push_back(fmt::format("{} is unknown here and was left out of account", option));
  }
  for (const auto& [option, why] : engine.unfollowed) {
    if (arguments.has(option)) notes.push_back(fmt::format("{} is not followed: {}", arguments.written(option), why));
  }
  return notes;
}

// Where a command's arguments begin, and which engine its program starts; nullptr: it names no program.
struct Start {
  std::size_t arguments = 0;
  const Engine* engine = nullptr;
};

Start start_of(std::span<const std::string> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (const Engine* engine : engines()) {
      const std::size_t program = engine->program(words.subspan(i));
      if (program > 0) return {i + program, engine};
    }
  }
  std::size_t first = 0;
  while (first < words.size() && !assigned(words[first]).empty()) ++first;
  return {first, nullptr};
}

}  // namespace

std::span<const Engine* const> engines() {
  static const std::array<const Engine*, 2> all{&sglang(), &vllm()};
  return all;
}

const Engine* engine_of(std::string_view name) {
  const auto all = engines();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Engine* one) { return one->name == name; });
  return found == all.end() ? nullptr : *found;
}

Expected<std::int64_t> variable(const LaunchCommand& command, std::string_view name, std::int64_t otherwise) {
  const auto found = command.environment.find(name);
  if (found == command.environment.end()) return otherwise;
  const auto number = human_number(found->second);
  if (number && *number > 0) return *number;
  return fail(ErrorCode::invalid_argument,
              fmt::format("{} is '{}', expected a whole number from 1 on", name, found->second));
}

Expected<LaunchCommand> parse_command(const Engine& engine, std::string_view text) {
  auto split = shell_words(text);
  if (!split) return tl::make_unexpected(split.error());
  const std::span<const std::string> words = *split;
  const Start start = start_of(words);
  if (start.engine != nullptr && start.engine != &engine) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("the command starts {}, not {}", start.engine->title, engine.title));
  }
  LaunchCommand command;
  for (const std::string& word : words.first(start.arguments)) {
    const std::string name = assigned(word);
    if (!name.empty()) command.environment[name] = word.substr(name.size() + 1);
  }
  auto arguments = parse_arguments(words.subspan(start.arguments), engine.flags());
  if (!arguments) return tl::make_unexpected(arguments.error());
  command.arguments = *std::move(arguments);
  if (const std::string* file = command.arguments.text("config")) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("the options in '{}' are not read; give them in the command itself", *file));
  }
  command.notes = notes_on(engine, command.arguments);
  command.model = engine.model(command.arguments);
  return command;
}

}  // namespace cubinet::warmup::engines
