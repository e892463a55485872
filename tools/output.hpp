// Output of the command: one JSON object or text on standard output, errors and notes on standard error; tables, and
// numbers with units.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tools/commands.hpp"
#include "util/expected.hpp"
#include "util/json_text.hpp"
#include "util/text.hpp"

namespace cubinet::tools {

using Json = nlohmann::ordered_json;

// Prints the object, indented, and a line feed. Bytes that are not UTF-8 are replaced.
void print_object(const Json& object);

// The same for the text of a JSON object.
void print_json(std::string_view text);

// Writes text to standard output.
void print(std::string_view text);

// Writes text to standard error; errors are ignored.
void log(std::string_view text);

// Writes a note, one line, to standard error. Long words are shortened as in report_error().
void note(std::string_view text);

// Writes the error to standard error, one line and then its detail, and with `json` also as an object to standard
// output. A word of more than 200 bytes, such as a path or a key of the user's, is shortened in the middle. Returns
// `exit_code`.
int report_error(const Error& error, bool json, ExitCode exit_code);

// Flushes standard output. Returns false if something could not be written.
bool flush_output();

// The same, and reports a failure on standard error.
bool finish_output();

// N or K for a table; "-" for 0, a kernel without a fixed N or K.
std::string size_text(std::int64_t size);

using util::one_line;

// one_line(), cut to 60 characters with "..." at the end.
std::string short_text(std::string_view text);

// The number of characters of a line.
std::size_t width(std::string_view line);

// A text table. Columns are as wide as their widest cell and two blanks apart. A header that starts with '>' aligns its
// column to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> headers);
  // One cell per header. Cells are cut by short_text().
  void add(std::vector<std::string> row);
  // One line per row, the headers first, without trailing blanks.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

using util::count_text;
std::string milliseconds_text(double value);  // "231 ms", "1.9 s", "2 min 5 s"
std::string age_text(std::int64_t seconds);   // "12 s", "5 min", "3 h", "8 d"

}  // namespace cubinet::tools
