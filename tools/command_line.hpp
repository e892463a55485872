// The command line: commands, options, and the messages for wrong ones. The only module that includes CLI11, because
// its header takes seconds to compile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/expected.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace cubinet::tools {

// Returns what is wrong with a text; empty if nothing is.
using Complaint = std::function<std::string(const std::string& text)>;

// A handle to an option, a flag or an argument; copyable, and valid as long as its CommandLine. The setters return it,
// so that they can be chained. Other options of the same command are named as on the command line: "--jobs".
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required() const;
  Option described(const std::string& help) const;
  // The name and the default of its value in --help; an empty text shows none.
  Option type_name(const std::string& name) const;
  Option shown_default(const std::string& text) const;
  // The number of words that it takes.
  Option takes(int least, int most) const;
  Option excludes(Option other) const;
  Option excludes(const char* other) const;
  Option needs(Option other) const;
  // Refuses, with its name, each text that `complaint` returns a message for. not_empty() refuses an empty text, as
  // from a script's empty variable, with the message `words`.
  Option checked(const Complaint& complaint) const;
  Option not_empty(const std::string& words) const;

  [[nodiscard]] std::string name() const;
  [[nodiscard]] bool is(const char* name) const;
  [[nodiscard]] bool given() const;  // on the command line that was parsed

 private:
  CLI::Option* option_;
};

// A handle to a command or a group of commands. The targets of options must outlive the CommandLine; they hold the
// defaults.
class Command {
 public:
  Command(CLI::App* app, int* exit_code) : app_(app), exit_code_(exit_code) {}

  Command subcommand(const std::string& name, const std::string& help) const;
  void requires_subcommand() const;
  // The text of --help below the options.
  void footer(const std::string& text) const;
  // The function to run if the user names the command; it returns the exit code.
  void action(std::function<int()> run) const;

  Option flag(const std::string& name, bool& target, const std::string& help) const;
  Option option(const std::string& name, std::string& target, const std::string& help) const;
  Option option(const std::string& name, std::vector<std::string>& target, const std::string& help) const;
  // An option whose value is a file name, which must not be empty.
  Option file(const std::string& name, std::string& target, const std::string& help) const;
  // An option whose text `store` parses and stores; it returns what is wrong with the text, else an empty string.
  Option parsed(const std::string& name, const Complaint& store, const std::string& help) const;
  // All options in the order of addition, --help first.
  [[nodiscard]] std::vector<Option> options() const;

 private:
  CLI::App* app_;
  int* exit_code_;  // of the CommandLine
};

// The whole command line. Add commands to root(), then parse once.
class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& description, const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  [[nodiscard]] Command root();

  // Parses the words after the program's name, runs the action of the command that they name, or prints the help or the
  // version, and returns the exit code. invalid_argument, with the mistake, if they are refused; no action has run
  // then.
  Expected<int> parse(std::vector<std::string> words);

  // Whether the parsed words name this command, even if they were refused.
  [[nodiscard]] bool names(const std::string& command) const;

 private:
  std::unique_ptr<CLI::App> app_;
  int exit_code_ = 0;
};

// Parses a whole decimal number strictly: "12", but not "12x", " 12", "0x12" or one that exceeds 64 bits.
std::optional<std::int64_t> parse_number(std::string_view text);

// Adds an option whose text `parse` turns into an Expected of a value for `target`; its error is the message.
template <class Target, class Parse>
Option add_parsed(Command command, const std::string& name, Target& target, Parse parse, const std::string& help) {
  const auto store = [&target, parse](const std::string& text) {
    auto value = parse(text);
    if (!value) return value.error().message;
    target = *std::move(value);
    return std::string();
  };
  return command.parsed(name, store, help);
}

// Adds an option that takes a whole number from `lowest` to `highest`. `target` holds the default.
Option add_number(Command command, const std::string& name, std::int64_t& target, std::int64_t lowest,
                  std::int64_t highest, const std::string& help);

}  // namespace cubinet::tools
