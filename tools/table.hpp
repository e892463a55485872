// Text for people: an aligned table, and numbers with units.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "util/text.hpp"

namespace cubinet::tools {

// Columns as wide as their widest cell, two blanks apart. A header that starts with '>' aligns its column to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> headers);
  // As many cells as there are headers. A cell is one line of 60 characters at most, see short_text().
  void add(std::vector<std::string> row);
  // Every row on a line of its own, the headers first, without trailing blanks.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

using util::count_text;
std::string milliseconds_text(double value);  // "231 ms", "1.9 s", "2 min 5 s"
std::string age_text(std::int64_t seconds);   // "12 s", "5 min", "3 h", "8 d"

}  // namespace cubinet::tools
