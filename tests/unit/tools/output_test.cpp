#include "tools/output.hpp"

#include <limits>

#include "catch.hpp"
#include "util/json_text.hpp"

using namespace cubinet;

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
