// The page of `cubinet cache report`, and the pieces that it is made of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cache/cabinet.hpp"

namespace cubinet::tools {

// Text as HTML shows it, in an element or in a quoted attribute; as one_line() (output.hpp) takes it.
std::string html_text(std::string_view text);

// A table that scrolls by itself where the page is narrow. Cells are text, not markup. A header that starts with '>'
// aligns its column to the right.
class HtmlTable {
 public:
  explicit HtmlTable(const std::vector<std::string>& headers);
  // As many cells as there are headers.
  void add(const std::vector<std::string>& cells);
  [[nodiscard]] std::string text() const { return text_ + "</table></div>\n"; }

 private:
  std::vector<bool> right_;
  std::string text_;
};

struct Bar {
  std::string label;
  std::int64_t value = 0;
  std::string shown{};  // the value for people
};

// A chart of horizontal bars, as long as their values are beside the largest one.
std::string html_bars(std::string_view title, const std::vector<Bar>& bars);

// A page in which no script runs and nothing is loaded. `title` is text, `body` markup.
std::string html_page(std::string_view title, std::string_view body);

// What a cabinet holds as one static HTML page: the same for the same state of the cabinet, at any time. Long tables
// are cut to their largest rows, and say so.
std::string report_page(const std::string& root, const cache::Survey& survey, const cache::Stats& stats);

}  // namespace cubinet::tools
