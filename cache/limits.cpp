#include "cache/limits.hpp"

#include <charconv>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "util/text.hpp"

namespace cubinet::cache {
namespace {

bool is_none(std::string_view text) { return text == "none"; }

struct Count {
  std::int64_t value = 0;
  std::string_view rest;  // what follows the digits
};

// Nothing unless the text begins with a digit and the number fits.
std::optional<Count> take_count(std::string_view text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  Count count;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count.value);
  if (error != std::errc()) return std::nullopt;
  count.rest = text.substr(static_cast<std::size_t>(end - text.data()));
  return count;
}

std::optional<std::int64_t> seconds_of(std::string_view unit) {
  if (unit == "s") return 1;
  if (unit == "m" || unit == "min") return 60;
  if (unit == "h") return 3600;
  if (unit == "d" || unit.empty()) return 86'400;
  if (unit == "w") return 7 * 86'400;
  return std::nullopt;
}

Expected<std::int64_t> named(std::string_view variable, Expected<std::int64_t> limit) {
  if (!limit) limit.error().message = fmt::format("{}: {}", variable, limit.error().message);
  return limit;
}

}  // namespace

Limits with_headroom(const Limits& limits) {
  const auto less = [](std::int64_t limit) { return limit - limit / 10; };
  return {less(limits.bytes), less(limits.entries), limits.age};
}

Expected<std::int64_t> parse_size_limit(std::string_view text) {
  if (text.empty()) return default_limits.bytes;
  if (is_none(text)) return 0;
  auto bytes = util::parse_byte_size(text);
  if (!bytes) bytes.error().message += ", or none";
  return bytes;
}

Expected<std::int64_t> parse_count_limit(std::string_view text) {
  if (text.empty()) return default_limits.entries;
  if (is_none(text)) return 0;
  const auto count = take_count(text);
  if (count && count->rest.empty()) return count->value;
  return fail(ErrorCode::invalid_argument,
              fmt::format("'{}' is not a number of entries: write digits, as in 100000, or none", text));
}

Expected<std::int64_t> parse_age_limit(std::string_view text) {
  if (text.empty() || is_none(text)) return 0;
  const auto count = take_count(text);
  const auto unit = count ? seconds_of(count->rest) : std::nullopt;
  std::int64_t seconds = 0;
  if (unit && !__builtin_mul_overflow(count->value, *unit, &seconds)) return seconds;
  return fail(ErrorCode::invalid_argument,
              fmt::format("'{}' is not an age: write a number and s, m, h, d or w, as in 12h or 30d, or none", text));
}

Expected<Limits> limits_from(std::string_view max_size, std::string_view max_entries) {
  const auto bytes = named("CUBINET_CACHE_MAX_SIZE", parse_size_limit(max_size));
  if (!bytes) return tl::make_unexpected(bytes.error());
  const auto entries = named("CUBINET_CACHE_MAX_ENTRIES", parse_count_limit(max_entries));
  if (!entries) return tl::make_unexpected(entries.error());
  return Limits{*bytes, *entries, default_limits.age};
}

}  // namespace cubinet::cache
