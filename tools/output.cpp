#include "tools/output.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "util/clock.hpp"
#include "util/expected.hpp"
#include "util/json_text.hpp"

namespace cubinet::tools {
namespace {

void write(std::FILE* stream, std::string_view text) { std::fwrite(text.data(), 1, text.size(), stream); }

// Whether a byte of UTF-8 is the first byte of a character.
bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

// The number of bytes of the first `characters` characters of a line that has more.
std::size_t bytes_of(std::string_view line, std::size_t characters) {
  std::size_t bytes = 0;
  for (++characters; characters > 0; ++bytes) {
    if (begins_character(line[bytes])) --characters;
  }
  return bytes - 1;
}

// `word`, with its middle replaced by the number of bytes left out if it is long. No UTF-8 character is cut.
std::string shortened_word(std::string_view word) {
  constexpr std::size_t longest = 200;
  constexpr std::size_t kept = 80;  // at either end
  if (word.size() <= longest) return std::string(word);
  std::size_t left = kept;
  std::size_t right = word.size() - kept;
  while (left > 0 && !begins_character(word[left])) --left;
  while (right < word.size() && !begins_character(word[right])) ++right;
  return fmt::format("{}...({} bytes)...{}", word.substr(0, left), right - left, word.substr(right));
}

// A message on one line in which long words, such as a key or a path of the user's, are shortened.
std::string readable(std::string_view message) {
  std::string text;
  const std::string line = one_line(message);
  for (std::string_view rest = line; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    text += shortened_word(rest.substr(0, end));
    rest.remove_prefix(end);
    const std::size_t blanks = std::min(rest.find_first_not_of(' '), rest.size());
    text += rest.substr(0, blanks);
    rest.remove_prefix(blanks);
  }
  return text;
}

}  // namespace

void print_object(const Json& object) { print(object.dump(2, ' ', false, Json::error_handler_t::replace) + '\n'); }

void print_json(std::string_view text) { print_object(Json::parse(text)); }

void print(std::string_view text) { write(stdout, text); }

void log(std::string_view text) { write(stderr, text); }

void note(std::string_view text) { log("cubinet: note: " + readable(text) + '\n'); }

int report_error(const Error& error, bool json, ExitCode exit_code) {
  const std::string message = readable(error.message);
  log("cubinet: error: " + message + '\n');
  if (!error.detail.empty()) log(error.detail + (error.detail.back() == '\n' ? "" : "\n"));
  if (json) {
    Json body{{"code", code_name(error.code)}, {"message", message}, {"detail", error.detail}};
    print_object(Json{{"error", std::move(body)}});
  }
  return exit_code;
}

bool flush_output() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

bool finish_output() {
  const bool whole = flush_output();
  if (!whole) log("cubinet: error: standard output could not be written\n");
  return whole;
}

std::string size_text(std::int64_t size) { return size == 0 ? "-" : std::to_string(size); }

std::string short_text(std::string_view text) {
  constexpr std::size_t widest = 60;
  constexpr std::string_view cut = "...";
  std::string line = one_line(text);
  if (width(line) > widest) line = line.substr(0, bytes_of(line, widest - cut.size())).append(cut);
  return line;
}

std::size_t width(std::string_view line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), begins_character));
}

Table::Table(std::vector<std::string> headers) {
  for (std::string& header : headers) {
    right_.push_back(!header.empty() && header.front() == '>');
    if (right_.back()) header.erase(0, 1);
  }
  rows_.push_back(std::move(headers));
}

void Table::add(std::vector<std::string> row) {
  for (std::string& cell : row) cell = short_text(cell);
  rows_.push_back(std::move(row));
}

std::string Table::text() const {
  std::vector<std::size_t> widths(right_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i != 0) line += "  ";
      const std::string blanks(widths[i] - width(row[i]), ' ');
      line += right_[i] ? blanks + row[i] : row[i] + blanks;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string milliseconds_text(double value) {
  value = std::clamp(value, 0.0, 1e15);  // so that the cast below is defined for any value
  if (value < 999.5) return fmt::format("{:.0f} ms", value);
  if (value < 59'950) return fmt::format("{:.1f} s", value / 1000);
  const auto seconds = static_cast<std::int64_t>(value / 1000 + 0.5);
  return fmt::format("{} min {} s", seconds / 60, seconds % 60);
}

std::string age_text(std::int64_t seconds) {
  seconds = std::max<std::int64_t>(seconds, 0);  // negative if the clock was set back
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{} min", seconds / 60);
  if (seconds < 2 * util::seconds_per_day) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} d", seconds / util::seconds_per_day);
}

}  // namespace cubinet::tools
