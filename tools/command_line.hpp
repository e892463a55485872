// What may stand on the command line, and what a wrong one is answered. The only module that knows the parser.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "util/expected.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace cubinet::tools {

// Answers what is wrong with a text; empty when nothing is.
using Complaint = std::function<std::string(const std::string& text)>;

// An option, a flag or an argument, as a handle that is copied freely and valid as long as its CommandLine. What says
// more of it returns it, to be chained. Options of one command are named as they are written: "--jobs".
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required() const;
  Option described(const std::string& help) const;
  // What --help calls its value, and which one it holds before any is given; an empty text shows none.
  Option type_name(const std::string& name) const;
  Option shown_default(const std::string& text) const;
  // How many words it takes, where it takes several.
  Option takes(int least, int most) const;
  Option excludes(Option other) const;
  Option excludes(const char* other) const;
  Option needs(Option other) const;
  // Refuses, with its name, each text that `complaint` has something to say of. An empty text, as a script's empty
  // variable gives it, is refused with `words`.
  Option checked(const Complaint& complaint) const;
  Option not_empty(const std::string& words) const;

  [[nodiscard]] std::string name() const;
  [[nodiscard]] bool is(const char* name) const;
  [[nodiscard]] bool given() const;  // on the command line that was parsed

 private:
  CLI::Option* option_;
};

// A command, or a group of commands, as such a handle. What an option stores into must outlive the CommandLine; it
// holds the default.
class Command {
 public:
  Command(CLI::App* app, int* exit_code) : app_(app), exit_code_(exit_code) {}

  Command subcommand(const std::string& name, const std::string& help) const;
  void requires_subcommand() const;
  // What --help says below the options.
  void footer(const std::string& text) const;
  // What the command does when it is named; returns the exit code.
  void action(std::function<int()> run) const;

  Option flag(const std::string& name, bool& target, const std::string& help) const;
  Option option(const std::string& name, std::string& target, const std::string& help) const;
  Option option(const std::string& name, std::vector<std::string>& target, const std::string& help) const;
  // One that names a file, and never without a letter.
  Option file(const std::string& name, std::string& target, const std::string& help) const;
  // One whose text `store` keeps, or answers why it does not.
  Option parsed(const std::string& name, const Complaint& store, const std::string& help) const;
  // All of them in the order in which they were added, that for help first.
  [[nodiscard]] std::vector<Option> options() const;

 private:
  CLI::App* app_;
  int* exit_code_;  // the command line's
};

// The whole of it. Add commands to root(), then parse once.
class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& description, const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  [[nodiscard]] Command root();

  // Does what the words ask for, those after the name of the program, and returns the exit code: runs the action of the
  // command that they name, or prints the help or the version. invalid_argument, in words that name the mistake, when
  // they are refused; no action was run then.
  Expected<int> parse(std::vector<std::string> words);

  // Whether the words that were parsed name this command, refused or not.
  [[nodiscard]] bool names(const std::string& command) const;

 private:
  std::unique_ptr<CLI::App> app_;
  int exit_code_ = 0;
};

// The number that all of `text` spells in decimal, if it fits into 64 bits.
std::optional<std::int64_t> parse_number(std::string_view text);

// An option that takes a whole number of [lowest, highest]; anything else is refused by name. `target` holds the
// default.
Option add_number(Command command, const std::string& name, std::int64_t& target, std::int64_t lowest,
                  std::int64_t highest, const std::string& help);

}  // namespace cubinet::tools
