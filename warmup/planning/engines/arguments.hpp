// Parses the command-line options of an engine as Python's argparse does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "util/expected.hpp"

namespace cubinet::warmup::engines {

enum class FlagKind {
  switch_on,  // --x
  toggle,     // --x and --no-x
  value,      // --x VALUE, --x=VALUE
  values,     // --x VALUE VALUE...
  optional,   // --x, --x VALUE
};

// The spellings of options that an engine accepts.
enum class Spelling {
  exact,     // those of argparse: the full name, or a prefix that only one option has
  flexible,  // also _ for -, --disable-x for --no-enable-x, and keys of a JSON value: --x.key VALUE
};

// All options of an engine.
class FlagTable {
 public:
  // `names` lists options, separated by blanks. An option may have several names, separated by '|', of which the first
  // is its main name: "tensor-parallel-size|-tp". Names with two leading dashes are written without them.
  struct Flags {
    FlagKind kind;
    std::string_view names;
  };
  FlagTable(Spelling spelling, std::initializer_list<Flags> flags);

  struct Option {
    std::string name;  // main name, without dashes
    FlagKind kind = FlagKind::value;
    bool negated = false;  // --no-x
  };
  // The option that `written` (with dashes, without "=VALUE") stands for; none if there is no such option. Errors:
  // invalid_argument if it is a prefix of several options, or has _ but the engine accepts only -.
  [[nodiscard]] Expected<std::optional<Option>> find(std::string_view written) const;

  [[nodiscard]] Spelling spelling() const { return spelling_; }
  // Whether an option has this main name.
  [[nodiscard]] bool has(std::string_view name) const;

 private:
  void add(const std::string& names, FlagKind kind);

  Spelling spelling_;
  std::map<std::string, Option, std::less<>> options_;  // by spelling, with dashes
};

// The options of one command line. If an option is given several times, the last one is used.
class Arguments {
 public:
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  // Whether a switch or toggle is given, other than as --no-x.
  [[nodiscard]] bool on(std::string_view name) const;
  // The last value of an option; nullptr if it is not given.
  [[nodiscard]] const std::string* text(std::string_view name) const;
  [[nodiscard]] std::string text_or(std::string_view name, std::string_view otherwise) const;
  // The value as a whole number in [least, 2^30]; 16k means 16,000 and 16K means 16,384. `otherwise` if the option is
  // not given. Errors: invalid_argument.
  [[nodiscard]] Expected<std::int64_t> number(std::string_view name, std::int64_t least, std::int64_t otherwise) const;
  // The option as it is written in the command: "-tp".
  [[nodiscard]] std::string written(std::string_view name) const;

  std::vector<std::string> positionals;
  std::size_t leading = 0;           // how many of the positionals come before the first option
  std::vector<std::string> unknown;  // unknown options as written, without values

 private:
  friend Expected<Arguments> parse_arguments(std::span<const std::string> words, const FlagTable& table);
  struct Given {
    std::string written;
    std::vector<std::string> values;
    bool on = true;
  };
  [[nodiscard]] const Given* find(std::string_view name) const;

  std::map<std::string, Given, std::less<>> given_;
};

// Parses the words of a command after the program. Errors (invalid_argument) name the word: an option without its
// value, an option that begins with a typographic dash in place of a hyphen, and those of FlagTable::find.
Expected<Arguments> parse_arguments(std::span<const std::string> words, const FlagTable& table);

// The number that "8", "16k" or "16K" stands for; none for any other text.
std::optional<std::int64_t> human_number(std::string_view text);

}  // namespace cubinet::warmup::engines
