#include "tools/output.hpp"

#include <limits>

#include "catch.hpp"
#include "util/json_text.hpp"

using namespace cubinet;

TEST_CASE("Control characters become blanks, and other text is unchanged") {
  CHECK(tools::one_line("a\nb\x1b[2J\x7f") == "a b [2J ");
  CHECK(tools::one_line("\xC2\x9B"
                        "31m") == " 31m");  // U+009B, the CSI of C1
  CHECK(tools::one_line("\xC2\x85"
                        "x") == " x");                         // U+0085, next line
  CHECK(tools::one_line("\xE2\x80\xA8\xE2\x80\xA9") == "  ");  // U+2028 and U+2029, separators
  CHECK(tools::one_line("\xE2\x80\xAE"
                        "gnp\xE2\x81\xA6") == " gnp ");    // U+202E and U+2066 turn text round
  CHECK(tools::one_line("\xE2\x80\x8F\xD8\x9C") == "  ");  // U+200F and U+061C
  CHECK(tools::one_line("Zürich 東京 😀") == "Zürich 東京 😀");
}

TEST_CASE("A byte that is not UTF-8 becomes U+FFFD and cannot control a terminal") {
  CHECK(tools::one_line("bad\xFF\x9B!") == "bad\xEF\xBF\xBD\xEF\xBF\xBD!");
  CHECK(util::is_utf8(tools::one_line("\xE2\x80")));
}

TEST_CASE("A name of more than 60 characters is cut between characters, and a shorter one is whole") {
  std::string name;
  for (int i = 0; i < 60; ++i) name += "ü";
  CHECK(tools::short_text(name) == name);
  CHECK(tools::width(name) == 60);
  const std::string cut = tools::short_text(name + "x");
  CHECK(cut == name.substr(0, 2 * 57) + "...");
  CHECK(tools::width(cut) == 60);
  CHECK(tools::short_text("\xC2\x9B") == " ");
  CHECK(tools::short_text("").empty());
}

TEST_CASE("A column is as wide as its widest cell, counted in characters") {
  tools::Table table({"A", ">B"});
  table.add({"ü", "1"});
  table.add({"xyz", "22"});
  CHECK(table.text() == "A     B\nü     1\nxyz  22\n");
}

TEST_CASE("A cell is one line, and a long cell widens its column to at most 60 characters") {
  tools::Table table({"A", "B"});
  table.add({std::string(900'000, 'x'), "1"});
  table.add({"y\n", "2"});
  CHECK(table.text() ==
        "A" + std::string(61, ' ') + "B\n" + std::string(57, 'x') + "...  1\ny" + std::string(61, ' ') + "2\n");
}

TEST_CASE("An impossible duration is limited to a printable one") {
  CHECK(tools::milliseconds_text(-1e300) == "0 ms");
  CHECK(tools::milliseconds_text(std::numeric_limits<double>::infinity()) == tools::milliseconds_text(1e15));
}
