#include "tools/html.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tools/output.hpp"

namespace cubinet::tools {
namespace {

constexpr const char* style = R"(
:root{color-scheme:light}
body{margin:0 auto;max-width:1240px;padding:16px;background:#fff;color:#1c1f23;font:15px/1.45 system-ui,sans-serif}
h1{font-size:1.4rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}h3{font-size:.95rem;margin:0 0 .5rem}
p{margin:.3rem 0}.path{color:#555;overflow-wrap:anywhere}.note{color:#8a3b00}
.cards,.charts{display:grid;gap:12px;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));margin-top:16px}
.charts{grid-template-columns:repeat(auto-fit,minmax(310px,1fr))}
.card,.chart{border:1px solid #d9dde2;border-radius:6px;padding:10px 12px;min-width:0}
.card b{display:block;font-size:1.3rem;overflow-wrap:anywhere}
.bar{display:grid;grid-template-columns:minmax(6.5rem,auto) 1fr minmax(3.5rem,auto);gap:8px;align-items:center}
.bar span{font-size:.85rem;overflow-wrap:anywhere}.bar span:last-child{text-align:right}
svg{width:100%;height:12px;display:block}rect{fill:#3b6fb6}
.scroll{overflow-x:auto;margin:.4rem 0 1.2rem}table{border-collapse:collapse;font-size:.85rem;width:100%}
th,td{padding:3px 8px;border-bottom:1px solid #e4e7eb;text-align:left;white-space:nowrap}
th{background:#f4f6f8}.r{text-align:right;font-variant-numeric:tabular-nums}
)";

}  // namespace

std::string html_text(std::string_view text) {
  std::string escaped;
  for (const char c : one_line(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

HtmlTable::HtmlTable(const std::vector<std::string>& headers) : text_("<div class=\"scroll\"><table>\n<tr>") {
  for (const std::string& header : headers) {
    right_.push_back(header.starts_with('>'));
    text_ += fmt::format("<th{}>{}</th>", right_.back() ? " class=\"r\"" : "",
                         html_text(std::string_view(header).substr(right_.back() ? 1 : 0)));
  }
  text_ += "</tr>\n";
}

void HtmlTable::add(const std::vector<std::string>& cells) {
  text_ += "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    text_ += fmt::format("<td{}>{}</td>", right_[i] ? " class=\"r\"" : "", html_text(cells[i]));
  }
  text_ += "</tr>\n";
}

std::string html_bars(std::string_view title, const std::vector<Bar>& bars) {
  constexpr double longest = 1000;
  std::int64_t largest = 1;
  for (const Bar& bar : bars) largest = std::max(largest, bar.value);
  std::string text = fmt::format("<div class=\"chart\"><h3>{}</h3>\n", html_text(title));
  for (const Bar& bar : bars) {
    const double length =
        longest * static_cast<double>(std::max<std::int64_t>(bar.value, 0)) / static_cast<double>(largest);
    text += fmt::format(
        "<div class=\"bar\"><span>{}</span><svg viewBox=\"0 0 1000 12\" preserveAspectRatio=\"none\" "
        "aria-hidden=\"true\"><rect width=\"{:.1f}\" height=\"12\"/></svg><span>{}</span></div>\n",
        html_text(bar.label), length, html_text(bar.shown));
  }
  return text + "</div>\n";
}

std::string html_page(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
      "<title>{}</title>\n<style>{}</style></head>\n<body>\n{}</body></html>\n",
      html_text(title), style, body);
}

}  // namespace cubinet::tools
