#include "tools/number.hpp"

#include <charconv>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace cubinet::tools {

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

CLI::Option* add_number(CLI::App& app, const std::string& name, std::int64_t& target, std::int64_t lowest,
                        std::int64_t highest, const std::string& help) {
  const auto store = [&target, name, lowest, highest](const std::string& text) {
    const auto value = parse_number(text);
    if (!value || *value < lowest || *value > highest) {
      throw CLI::ValidationError(name, fmt::format("'{}' is not a whole number from {} to {}", text, lowest, highest));
    }
    target = *value;
  };
  return app.add_option_function<std::string>(name, store, help)->type_name("N")->default_str(std::to_string(target));
}

}  // namespace cubinet::tools
