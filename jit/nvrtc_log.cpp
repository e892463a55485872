#include "jit/nvrtc_log.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

namespace cubinet::jit {
namespace {

constexpr std::string_view kDigits = "0123456789";

// The number right before `words`, as in "16 bytes spill loads".
std::optional<std::int32_t> number_before(std::string_view line, std::string_view words) {
  const std::size_t end = line.find(words);
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  const std::size_t before = line.find_last_not_of(kDigits, end - 1);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  std::int32_t number = 0;
  const auto [stop, error] = std::from_chars(line.data() + begin, line.data() + end, number);
  if (error != std::errc() || stop != line.data() + end) return std::nullopt;
  return number;
}

std::optional<std::string> entry_name(std::string_view line) {
  constexpr std::string_view kWords = "Compiling entry function '";
  const std::size_t found = line.find(kWords);
  if (found == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(found + kWords.size());
  return std::string(rest.substr(0, rest.find('\'')));
}

void read_line(std::string_view line, LogFacts& facts) {
  if (line.substr(0, 5) != "ptxas") return;
  if (auto name = entry_name(line)) facts.kernel_names.push_back(*name);
  Resources& resources = facts.resources;
  resources.spill_bytes += number_before(line, " bytes spill stores").value_or(0);
  resources.spill_bytes += number_before(line, " bytes spill loads").value_or(0);
  resources.registers = std::max(resources.registers, number_before(line, " registers").value_or(0));
  resources.static_smem_bytes = std::max(resources.static_smem_bytes, number_before(line, " bytes smem").value_or(0));
}

bool contains(std::string_view line, std::string_view words) { return line.find(words) != std::string_view::npos; }

// ptxas writes this after every reason, and without any reason when memory ran out.
constexpr std::string_view kAborted = "aborted due to errors";

bool names_a_reason(std::string_view line) {
  return (contains(line, "error") || contains(line, "fatal")) && !contains(line, kAborted);
}

template <class Read>
void for_each_line(std::string_view log, const Read& read) {
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    read(log.substr(0, end));
    log.remove_prefix(std::min(end + 1, log.size()));
  }
}

}  // namespace

LogFacts parse_ptxas_log(std::string_view log) {
  LogFacts facts;
  for_each_line(log, [&](std::string_view line) { read_line(line, facts); });
  return facts;
}

std::string printable_log(std::string_view log) {
  std::string text;
  const auto is_text = [](char c) {
    const auto code = static_cast<unsigned char>(c);
    return code >= ' ' ? code != 0x7f : c == '\n' || c == '\t';
  };
  std::copy_if(log.begin(), log.end(), std::back_inserter(text), is_text);
  return text;
}

std::string build_in_ptx(std::string_view ptx, const std::string& release) {
  const std::string words = "release " + release + ", V";
  const std::size_t found = ptx.find(words);
  if (found == std::string_view::npos) return release;
  const std::string_view rest = ptx.substr(found + words.size());
  const std::string build(rest.substr(0, rest.find_first_not_of("0123456789.")));
  return build.starts_with(release + ".") ? build : release;
}

bool is_out_of_memory(std::string_view log) {
  bool memory = false, reason = false;
  for_each_line(log, [&](std::string_view line) {
    memory = memory || contains(line, "out of memory") || contains(line, "Memory allocation failure");
    reason = reason || names_a_reason(line);
  });
  return memory || !reason;
}

}  // namespace cubinet::jit
