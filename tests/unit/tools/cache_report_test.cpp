#include "tools/cache_report.hpp"

#include "catch.hpp"
#include "unit/cache/support.hpp"
#include "util/json_text.hpp"

using namespace cubinet;

namespace {

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

cache::Entry entry_of(int number) {
  cache::Entry entry;
  entry.key = test::key_of(number);
  entry.facts = test::object_of(number).facts;
  entry.bytes = 1000 + number;
  return entry;
}

cache::Survey survey_of(int entries) {
  cache::Survey survey;
  for (int i = 0; i < entries; ++i) survey.entries.push_back(entry_of(i));
  return survey;
}

cache::Stats stats_of(const cache::Survey& survey) {
  cache::Stats stats;
  stats.entries = static_cast<std::int64_t>(survey.entries.size());
  return stats;
}

std::string page_of(const cache::Survey& survey) { return tools::report_page("/root", survey, stats_of(survey)); }

}  // namespace

TEST_CASE("Text is escaped, so that it cannot become markup") {
  CHECK(tools::html_text("<b a='1' c=\"2\">&\n\x1b") == "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;  ");
}

TEST_CASE("The length of a bar is its value relative to the largest one, and 0 if it is negative") {
  const std::string bars = tools::html_bars("title", {{"a", 10, "10"}, {"b", 5, "5"}, {"c", 0, "0"}, {"d", -1, "-1"}});
  CHECK(count(bars, "<rect width=\"1000.0\"") == 1);
  CHECK(count(bars, "<rect width=\"500.0\"") == 1);
  CHECK(count(bars, "<rect width=\"0.0\"") == 2);
}

TEST_CASE("A page of facts with markup in them contains no script and none of that markup") {
  const std::string hostile = "</td><script>alert(1)</script><img src=x onerror='y'>";
  cache::Survey survey = survey_of(1);
  auto& facts = survey.entries.front().facts;
  facts.arch = hostile;
  facts.details.set("family", hostile);
  facts.details.set("config", hostile);
  facts.created = INT64_MAX;
  for (const char* name : {"registers", "spill_bytes", "smem_bytes"}) facts.details.set(name, INT32_MIN);
  facts.compile_ms = 1e300;
  survey.entries.front().last_used = INT64_MIN;
  survey.damaged = {hostile};
  survey.index_problem = hostile;
  const std::string page = tools::report_page(hostile, survey, stats_of(survey));
  CHECK_FALSE(holds(page, "<script"));
  CHECK_FALSE(holds(page, "<img"));
  CHECK(count(page, "&lt;script&gt;") >= 6);
  CHECK(holds(page, "default-src 'none'"));
}

TEST_CASE("A long table is cut to its largest rows and says so, and a short one is complete") {
  CHECK_FALSE(holds(page_of(survey_of(50)), "The 50 largest"));
  const std::string page = page_of(survey_of(60));
  CHECK(holds(page, "The 50 largest of 60."));
  CHECK(holds(page, "The 20 with the most bytes of 60."));
  CHECK(holds(page, test::key_of(59).hex().substr(0, 12)));
  CHECK_FALSE(holds(page, test::key_of(0).hex().substr(0, 12)));
}

TEST_CASE("The same state gives the same page, and an empty cabinet gives one without tables of entries") {
  CHECK(page_of(survey_of(10)) == page_of(survey_of(10)));
  const std::string page = page_of(survey_of(0));
  CHECK_FALSE(holds(page, "<table"));
  CHECK(holds(page, "Nothing is recorded."));
}

TEST_CASE("Every element of a page that is opened is closed") {
  const std::string page = page_of(survey_of(60));
  for (const char* name : {"html", "head", "body", "div", "table", "tr", "td", "th", "svg", "span", "p", "style"}) {
    INFO(name);
    const std::string tag(name);
    CHECK(count(page, "<" + tag + ">") + count(page, "<" + tag + " ") == count(page, "</" + tag + ">"));
  }
}

TEST_CASE("If the index could not be read, the page states nothing about use") {
  cache::Survey survey = survey_of(2);
  survey.index_problem = "the index is busy";
  const std::string page = page_of(survey);
  CHECK(holds(page, "the index is busy"));
  CHECK(holds(page, "unknown"));
  CHECK_FALSE(holds(page, "Last used on"));
}

TEST_CASE("Generic kernels have a row named any") {
  cache::Survey survey = survey_of(1);
  survey.entries.front().facts.details.set("n", 0);
  survey.entries.front().facts.details.set("k", 0);
  const std::string page = page_of(survey);
  CHECK(holds(page, "<td>any</td>"));
  CHECK_FALSE(holds(page, "- x -"));
}

TEST_CASE("A page is UTF-8, whatever the names of folders and files are") {
  cache::Survey survey = survey_of(1);
  survey.damaged = {"bad\xFFname"};
  const std::string page = tools::report_page("/bad\xFF", survey, stats_of(survey));
  CHECK(util::is_utf8(page));
  CHECK(holds(page, "bad\xEF\xBF\xBDname"));
}
