// The page of `cubinet cache report`, and the HTML elements that it consists of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cache/maintenance.hpp"

namespace cubinet::tools {

// Text escaped for an HTML element or a quoted attribute. Control characters become blanks, see one_line().
std::string html_text(std::string_view text);

// A table that scrolls horizontally on a narrow page. Cells are text, not markup. A header that starts with '>' aligns
// its column to the right.
class HtmlTable {
 public:
  explicit HtmlTable(const std::vector<std::string>& headers);
  // One cell per header.
  void add(const std::vector<std::string>& cells);
  [[nodiscard]] std::string text() const { return text_ + "</table></div>\n"; }

 private:
  std::vector<bool> right_;
  std::string text_;
};

struct Bar {
  std::string label;
  std::int64_t value = 0;
  std::string shown{};  // the value as text
};

// A chart of horizontal bars, scaled to the largest value.
std::string html_bars(std::string_view title, const std::vector<Bar>& bars);

// A page whose Content-Security-Policy forbids scripts and loads. `title` is text, `body` is markup.
std::string html_page(std::string_view title, std::string_view body);

// One static HTML page about a cabinet. It depends only on the cabinet's state, not on the time. Long tables are cut to
// their largest rows and say so.
std::string report_page(const std::string& root, const cache::Survey& survey, const cache::Stats& stats);

}  // namespace cubinet::tools
