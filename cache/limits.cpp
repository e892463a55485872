#include "cache/limits.hpp"

#include <charconv>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "util/text.hpp"

namespace cubinet::cache {
namespace {

bool is_none(std::string_view text) { return text == "none"; }

// Nothing unless the text is all digits and the number fits.
std::optional<std::int64_t> whole_number(std::string_view text) {
  if (text.empty() || text.front() == '-') return std::nullopt;
  std::int64_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  return error == std::errc() && end == last ? std::optional(value) : std::nullopt;
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
  // 0 means no limit, so a fraction of a byte must not become 0.
  if (bytes && *bytes == 0 && text.find_first_of("123456789") != std::string_view::npos) {
    bytes = fail(ErrorCode::invalid_argument, fmt::format("'{}' is less than a byte: write 1 or more", text));
  }
  if (!bytes) bytes.error().message += ", or none";
  return bytes;
}

Expected<std::int64_t> parse_count_limit(std::string_view text) {
  if (text.empty()) return default_limits.entries;
  if (is_none(text)) return 0;
  if (const auto count = whole_number(text)) return *count;
  return fail(ErrorCode::invalid_argument,
              fmt::format("'{}' is not a number of entries: write digits, as in 100000, or none", text));
}

Expected<std::int64_t> parse_age_limit(std::string_view text) {
  if (text.empty() || is_none(text) || text == "0") return 0;
  auto seconds = util::parse_duration(text);
  if (!seconds) seconds.error().message += ", or none";
  return seconds;
}

Expected<Limits> limits_from(std::string_view max_size, std::string_view max_entries) {
  const auto bytes = named("CUBINET_CACHE_MAX_SIZE", parse_size_limit(max_size));
  if (!bytes) return propagate(bytes);
  const auto entries = named("CUBINET_CACHE_MAX_ENTRIES", parse_count_limit(max_entries));
  if (!entries) return propagate(entries);
  return Limits{*bytes, *entries, default_limits.age};
}

}  // namespace cubinet::cache
