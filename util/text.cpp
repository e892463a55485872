#include "util/text.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

namespace cubinet::util {
namespace {

constexpr std::string_view unit_letters = "kmgt";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The bytes of a unit; `text` is what follows the number, without spaces.
std::optional<std::int64_t> unit_bytes(std::string_view text) {
  if (text.empty()) return 1;
  if (text.size() == 1 && lower(text[0]) == 'b') return 1;
  const std::size_t power = unit_letters.find(lower(text[0]));
  if (power == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(1);
  const bool decimal = rest.size() == 1 && lower(rest[0]) == 'b';
  const bool binary = rest.empty() || (rest.size() == 2 && lower(rest[0]) == 'i' && lower(rest[1]) == 'b');
  if (!decimal && !binary) return std::nullopt;
  std::int64_t bytes = 1;
  for (std::size_t i = 0; i <= power; ++i) bytes *= decimal ? 1000 : 1024;
  return bytes;
}

// A parsed number of bytes, and whether it fits into 64 bits.
struct Size {
  std::int64_t bytes = 0;
  bool fits = true;

  void multiply(std::int64_t factor) { fits &= !__builtin_mul_overflow(bytes, factor, &bytes); }
  void add(std::int64_t more) { fits &= !__builtin_add_overflow(bytes, more, &bytes); }
};

// Removes the leading digits from `text` and returns their value; nullopt if there are none.
std::optional<Size> take_number(std::string_view& text) {
  Size value;
  std::size_t length = 0;
  for (; length < text.size() && is_digit(text[length]); ++length) {
    value.multiply(10);
    value.add(text[length] - '0');
  }
  if (length == 0) return std::nullopt;
  text.remove_prefix(length);
  return value;
}

// The same for the digits after a decimal point, in millionths; further digits are dropped.
std::optional<std::int64_t> take_millionths(std::string_view& text) {
  std::int64_t value = 0;
  std::int64_t scale = 100'000;
  std::size_t length = 0;
  for (; length < text.size() && is_digit(text[length]); ++length, scale /= 10) value += (text[length] - '0') * scale;
  if (length == 0) return std::nullopt;
  text.remove_prefix(length);
  return value;
}

std::optional<Size> parse_size(std::string_view text) {
  auto size = take_number(text);
  if (!size) return std::nullopt;
  std::int64_t millionths = 0;
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    const auto fraction = take_millionths(text);
    if (!fraction) return std::nullopt;
    millionths = *fraction;
  }
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const auto unit = unit_bytes(text);
  if (!unit) return std::nullopt;
  // unit / 10^6 * millionths without overflow: a unit is at most 2^40.
  const std::int64_t part = *unit / 1'000'000 * millionths + *unit % 1'000'000 * millionths / 1'000'000;
  size->multiply(*unit);
  size->add(part);
  return size;
}

constexpr std::array<std::pair<std::string_view, std::int64_t>, 5> duration_units = {
    {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86'400}, {"w", 7 * 86'400}}};

std::optional<std::int64_t> parse_seconds(std::string_view text) {
  if (text.empty() || text.front() == '-') return std::nullopt;
  std::int64_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc()) return std::nullopt;
  for (const auto& [name, seconds] : duration_units) {
    if (std::string_view(end, last) != name) continue;
    return __builtin_mul_overflow(number, seconds, &number) ? std::nullopt : std::optional(number);
  }
  return std::nullopt;
}

}  // namespace

Expected<std::int64_t> parse_byte_size(std::string_view text) {
  const auto size = parse_size(text);
  if (size && size->fits) return size->bytes;
  if (size) {
    return fail(ErrorCode::invalid_argument, fmt::format("'{}' is too large: a size is at most {} bytes", text,
                                                         std::numeric_limits<std::int64_t>::max()));
  }
  return fail(ErrorCode::invalid_argument,
              fmt::format("'{}' is not a size: write a number with an optional unit, as in 1500, 64MiB or 2GiB", text));
}

std::string format_byte_size(std::int64_t bytes) {
  constexpr std::array<std::string_view, 4> names = {"KiB", "MiB", "GiB", "TiB"};
  for (std::size_t i = names.size(); i-- > 0;) {
    const std::int64_t unit = std::int64_t{1} << (10 * (i + 1));
    if (bytes >= unit && bytes % unit == 0) return fmt::format("{} {}", bytes / unit, names[i]);
    if (bytes >= 2 * unit)
      return fmt::format("{:.1f} {}", static_cast<double>(bytes) / static_cast<double>(unit), names[i]);
  }
  return fmt::format("{} B", bytes);
}

Expected<std::int64_t> parse_duration(std::string_view text) {
  if (const auto seconds = parse_seconds(text)) return *seconds;
  return fail(ErrorCode::invalid_argument,
              fmt::format("'{}' is not a duration: write a whole number and s, min, h, d or w, as in 12h or 7d", text));
}

std::string count_text(std::int64_t count, std::string_view noun) {
  if (count != 1 && noun.ends_with('y')) return fmt::format("{} {}ies", count, noun.substr(0, noun.size() - 1));
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = text.find(separator); at != std::string_view::npos; at = text.find(separator)) {
    parts.emplace_back(text.substr(0, at));
    text.remove_prefix(at + 1);
  }
  parts.emplace_back(text);
  return parts;
}

}  // namespace cubinet::util
