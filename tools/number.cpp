#include "tools/number.hpp"

#include <charconv>

#include <fmt/format.h>

namespace cubinet::tools {

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Option add_number(Command command, const std::string& name, std::int64_t& target, std::int64_t lowest,
                  std::int64_t highest, const std::string& help) {
  const auto store = [&target, lowest, highest](const std::string& text) {
    const auto value = parse_number(text);
    if (!value || *value < lowest || *value > highest) {
      return fmt::format("'{}' is not a whole number from {} to {}", text, lowest, highest);
    }
    target = *value;
    return std::string();
  };
  return command.parsed(name, store, help).type_name("N").shown_default(std::to_string(target));
}

}  // namespace cubinet::tools
