#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "warmup/planning/engines/engine.hpp"
#include "warmup/planning/engines/sglang.hpp"
#include "warmup/planning/engines/shell_words.hpp"
#include "warmup/planning/engines/vllm.hpp"

namespace cubinet::warmup::engines {
namespace {

// The name of the variable that `word` sets, as in "NCCL_DEBUG=INFO"; empty if it sets none.
std::string assigned(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == 0 || equals == std::string::npos || (word.front() >= '0' && word.front() <= '9')) return {};
  const std::string name = word.substr(0, equals);
  const auto is_of_name = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return std::all_of(name.begin(), name.end(), is_of_name) ? name : std::string();
}

using Words = std::span<const std::string>;
using Commands = std::vector<std::vector<std::string>>;

// The index at which a command's arguments begin, and the engine that its program starts; nullptr if it names none.
struct Start {
  std::size_t arguments = 0;
  const Engine* engine = nullptr;
};

Start start_of(Words words) {
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

using Environment = std::map<std::string, std::string, std::less<>>;

void add_assignments(Words words, Environment& environment) {
  for (const std::string& word : words) {
    const std::string name = assigned(word);
    if (!name.empty()) environment[name] = word.substr(name.size() + 1);
  }
}

// A server that a script starts, and the variables that are set before it.
struct Launch {
  const Engine* engine = nullptr;  // nullptr: the program is left out
  std::vector<std::string> arguments;
  Environment environment;
  bool without_options = false;  // nothing in the script identifies the engine
};

// Searches the commands of a script, and of the shells that they start (bash -c '...').
class LaunchSearch {
 public:
  // `shells`: how many levels of nested shells (bash -c '...') are read.
  void look_into(const Commands& commands, int shells) {
    for (const auto& words : commands) look_at(words, shells);
  }
  std::vector<Launch> take() { return std::move(found_); }

 private:
  void look_at(Words words, int shells) {
    const Start start = start_of(words);
    if (start.engine != nullptr) {
      add_assignments(words.first(start.arguments), environment_);
      const Words arguments = words.subspan(start.arguments);
      found_.push_back({start.engine, {arguments.begin(), arguments.end()}, environment_});
      return;
    }
    add_assignments(words, environment_);
    for (const std::string& word : words) {
      if (shells == 0 || word.find_first_of(" \n") == std::string::npos) continue;
      if (const auto script = shell_commands(word)) look_into(*script, shells - 1);
    }
  }

  Environment environment_;
  std::vector<Launch> found_;
};

// Words that are neither options nor their values. One may be the model; those before the first option may be the
// program.
std::vector<std::string> strays_of(const Launch& launch, const Arguments& arguments) {
  const auto& words = arguments.positionals;
  const std::size_t known = launch.engine != nullptr ? 1 : std::max<std::size_t>(arguments.leading, 1);
  return {words.begin() + static_cast<std::ptrdiff_t>(std::min(known, words.size())), words.end()};
}

std::vector<std::string> notes_on(const Engine& engine, const Launch& launch, const Arguments& arguments) {
  std::vector<std::string> notes;
  for (const std::string& option : arguments.unknown) {
    notes.push_back(fmt::format("{} is unknown and was ignored", option));
  }
  for (const std::string& word : strays_of(launch, arguments)) {
    notes.push_back(fmt::format("'{}' belongs to no option and was ignored", word));
  }
  for (const auto& [option, why] : engine.unfollowed) {
    if (arguments.has(option)) notes.push_back(fmt::format("{} is not followed: {}", arguments.written(option), why));
  }
  if (launch.without_options) {
    notes.push_back(fmt::format("no option of {} is in it; planning for one GPU", engine.title));
  }
  return notes;
}

// The launch of a script in which no command names an engine's program, because it is left out or a script is started
// in its place. Takes the first command with an option of the engine, else the first command.
Launch arguments_alone(const Engine& engine, const Commands& commands) {
  Launch launch;
  if (commands.empty()) return launch;
  const auto has_option = [&](const std::vector<std::string>& words) {
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
      return word.starts_with('-') && engine.flags().find(word.substr(0, word.find('='))).value_or(std::nullopt);
    });
  };
  auto chosen = std::find_if(commands.begin(), commands.end(), has_option);
  launch.without_options = chosen == commands.end();
  if (launch.without_options) chosen = commands.begin();
  for (auto before = commands.begin(); before != chosen; ++before) add_assignments(*before, launch.environment);
  const Words words = *chosen;
  const std::size_t first = start_of(words).arguments;
  add_assignments(words.first(first), launch.environment);
  launch.arguments.assign(words.begin() + static_cast<std::ptrdiff_t>(first), words.end());
  return launch;
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
  const auto commands = shell_commands(text);
  if (!commands) return propagate(commands);
  LaunchSearch search;
  search.look_into(*commands, 2);
  std::vector<Launch> launches = search.take();
  const std::size_t servers = launches.size();
  if (servers == 0) launches.push_back(arguments_alone(engine, *commands));
  Launch& launch = launches.front();
  if (launch.engine != nullptr && launch.engine != &engine) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("the command starts {}, not {}", launch.engine->title, engine.title));
  }
  LaunchCommand command;
  command.environment = std::move(launch.environment);
  auto arguments = parse_arguments(launch.arguments, engine.flags());
  if (!arguments) return propagate(arguments);
  command.arguments = *std::move(arguments);
  if (const std::string* file = command.arguments.text("config")) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("the options in '{}' are not read; give them in the command itself", *file));
  }
  command.notes = notes_on(engine, launch, command.arguments);
  if (servers > 1) {
    command.notes.push_back(fmt::format("{} servers are started; planning for the first", servers));
  }
  command.model = engine.model(command.arguments);
  return command;
}

}  // namespace cubinet::warmup::engines
