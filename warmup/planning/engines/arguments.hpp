// An engine's command-line options, read as Python's argparse reads them.
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

// How an engine lets its options be written.
enum class Spelling {
  exact,     // as argparse alone: also shortened to a prefix that only one option has
  flexible,  // besides with _ for -, --disable-x for --no-enable-x, and keys of a JSON value: --x.key VALUE
};

// All options of an engine.
class FlagTable {
 public:
  // `names` are separated by blanks; further names of the same option stand after a '|'. They have no leading dashes,
  // except for options with one dash: "tensor-parallel-size|-tp". The first name is the option's own.
  struct Flags {
    FlagKind kind;
    std::string_view names;
  };
  FlagTable(Spelling spelling, std::initializer_list<Flags> flags);

  struct Option {
    std::string name;  // the option's own, without dashes
    FlagKind kind = FlagKind::value;
    bool negated = false;  // --no-x
  };
  // The option that `written` (with dashes, without "=VALUE") means; nullopt: there is none. invalid_argument when it
  // is short for several options, or written with _ where the engine takes - alone.
  [[nodiscard]] Expected<std::optional<Option>> find(std::string_view written) const;

  [[nodiscard]] Spelling spelling() const { return spelling_; }
  // Whether an option has this as its own name.
  [[nodiscard]] bool has(std::string_view name) const;

 private:
  void add(const std::string& names, FlagKind kind);

  Spelling spelling_;
  std::map<std::string, Option, std::less<>> options_;  // by what is written, with dashes
};

// The options of one command line. Where one is given several times, the last counts.
class Arguments {
 public:
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  // Whether a switch or toggle is given, and not as --no-x.
  [[nodiscard]] bool on(std::string_view name) const;
  // An option's last value; nullptr when it is not given.
  [[nodiscard]] const std::string* text(std::string_view name) const;
  [[nodiscard]] std::string text_or(std::string_view name, std::string_view otherwise) const;
  // A whole number from `least` to 2^30, also as 16k (16,000) or 16K (16,384); `otherwise` when the option is not
  // given.
  [[nodiscard]] Expected<std::int64_t> number(std::string_view name, std::int64_t least, std::int64_t otherwise) const;
  // The option as the operator wrote it: "-tp".
  [[nodiscard]] std::string written(std::string_view name) const;

  std::vector<std::string> positionals;
  std::size_t leading = 0;           // of these, before the first option
  std::vector<std::string> unknown;  // as written, without values

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

// Errors (invalid_argument) name the word: an option without the value that it takes, one that begins with a dash of
// typography in the place of a hyphen, and what FlagTable::find says.
Expected<Arguments> parse_arguments(std::span<const std::string> words, const FlagTable& table);

// "8", "16k", "16K" as a number; nullopt for anything else.
std::optional<std::int64_t> human_number(std::string_view text);

}  // namespace cubinet::warmup::engines
