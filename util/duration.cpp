#include "util/duration.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace cubinet::util {
namespace {

constexpr std::array<std::pair<std::string_view, std::int64_t>, 5> units = {
    {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86'400}, {"w", 7 * 86'400}}};

std::optional<std::int64_t> parse(std::string_view text) {
  if (text.empty() || text.front() == '-') return std::nullopt;
  std::int64_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc()) return std::nullopt;
  for (const auto& [name, seconds] : units) {
    if (std::string_view(end, last) != name) continue;
    return __builtin_mul_overflow(number, seconds, &number) ? std::nullopt : std::optional(number);
  }
  return std::nullopt;
}

}  // namespace

Expected<std::int64_t> parse_duration(std::string_view text) {
  if (const auto seconds = parse(text)) return *seconds;
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("'{}' is no stretch of time: write a whole number and s, min, h, d or w, as in 12h or 7d", text));
}

}  // namespace cubinet::util
