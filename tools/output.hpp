// What the command prints: one JSON object or text on standard output, errors and notes on standard error; tables, and
// numbers with units.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tools/commands.hpp"
#include "util/expected.hpp"
#include "util/text.hpp"

namespace cubinet::tools {

using Json = nlohmann::ordered_json;

// Writes the object, indented, and a line feed. Bytes that are not UTF-8 are replaced.
void print_object(const Json& object);

// The same of an object that is a text already.
void print_json(std::string_view text);

// Writes text to standard output.
void print(std::string_view text);

// Writes text to standard error; what cannot be written is dropped.
void log(std::string_view text);

// A line on standard error that is not an error. It is shortened as an error is.
void note(std::string_view text);

// Says the error on standard error, one line and then its detail, and with `json` as an object on standard output too.
// A word of the message beyond 200 bytes, a path or a key that the user gave, loses its middle.
// Returns `exit_code`.
int report_error(const Error& error, bool json, ExitCode exit_code);

// Flushes standard output. False when something could not be written.
bool flush_output();

// The same, and says on standard error what could not be done.
bool finish_output();

// N or K for a table: "-" for the 0 of a kernel that is not made for one.
std::string size_text(std::int64_t size);

// Text on one line: what steers a terminal (controls, ends of lines, marks of direction) becomes a blank, so that a
// file name cannot forge lines, move the cursor or turn text round; a byte that is not UTF-8 becomes U+FFFD.
std::string one_line(std::string_view text);

// The same for a name among others: of more than 60 characters the first ones, and "...".
std::string short_text(std::string_view text);

// How many characters such a line has.
std::size_t width(std::string_view line);

// Columns as wide as their widest cell, two blanks apart. A header that starts with '>' aligns its column to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> headers);
  // As many cells as there are headers. A cell is one line of 60 characters at most, see short_text().
  void add(std::vector<std::string> row);
  // Every row on a line of its own, the headers first, without trailing blanks.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

using util::count_text;
std::string milliseconds_text(double value);  // "231 ms", "1.9 s", "2 min 5 s"
std::string age_text(std::int64_t seconds);   // "12 s", "5 min", "3 h", "8 d"

}  // namespace cubinet::tools
