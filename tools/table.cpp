#include "tools/table.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tools/output.hpp"

namespace cubinet::tools {

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
  value = std::clamp(value, 0.0, 1e15);  // beyond is no time that anything took, and the cast below would not hold it
  if (value < 999.5) return fmt::format("{:.0f} ms", value);
  if (value < 59'950) return fmt::format("{:.1f} s", value / 1000);
  const auto seconds = static_cast<std::int64_t>(value / 1000 + 0.5);
  return fmt::format("{} min {} s", seconds / 60, seconds % 60);
}

std::string age_text(std::int64_t seconds) {
  seconds = std::max<std::int64_t>(seconds, 0);  // a clock that was set back
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{} min", seconds / 60);
  if (seconds < 2 * 86'400) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} d", seconds / 86'400);
}

}  // namespace cubinet::tools
