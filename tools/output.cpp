#include "tools/output.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "util/error_name.hpp"

namespace cubinet::tools {
namespace {

void write(std::FILE* stream, std::string_view text) { std::fwrite(text.data(), 1, text.size(), stream); }

// `word` with its middle left out where it is long, and no character of UTF-8 cut.
std::string shortened_word(std::string_view word) {
  constexpr std::size_t longest = 200;
  constexpr std::size_t kept = 80;  // at either end
  if (word.size() <= longest) return std::string(word);
  const auto inside = [&](std::size_t at) { return (static_cast<unsigned char>(word[at]) & 0xC0) == 0x80; };
  std::size_t left = kept;
  std::size_t right = word.size() - kept;
  while (left > 0 && inside(left)) --left;
  while (right < word.size() && inside(right)) ++right;
  return fmt::format("{}...({} bytes)...{}", word.substr(0, left), right - left, word.substr(right));
}

// A message in which no word is longer than a reader can take in, whatever the user gave as a key or a path.
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
    Json body{{"code", util::code_name(error.code)}, {"message", message}, {"detail", error.detail}};
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

std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& character : line) {
    const auto value = static_cast<unsigned char>(character);
    if (value < 0x20 || value == 0x7F) character = ' ';
  }
  return line;
}

}  // namespace cubinet::tools
