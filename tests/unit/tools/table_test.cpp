#include "tools/table.hpp"

#include <limits>

#include "catch.hpp"

using namespace cubinet;

TEST_CASE("Columns are as wide as the characters of their widest cell") {
  tools::Table table({"A", ">B"});
  table.add({"ü", "1"});
  table.add({"xyz", "22"});
  CHECK(table.text() == "A     B\nü     1\nxyz  22\n");
}

TEST_CASE("A cell is one line, and a long one pads no other beyond 60 characters") {
  tools::Table table({"A", "B"});
  table.add({std::string(900'000, 'x'), "1"});
  table.add({"y\n", "2"});
  CHECK(table.text() ==
        "A" + std::string(61, ' ') + "B\n" + std::string(57, 'x') + "...  1\ny" + std::string(61, ' ') + "2\n");
}

TEST_CASE("A time that nothing takes is cut to one that has a text") {
  CHECK(tools::milliseconds_text(-1e300) == "0 ms");
  CHECK(tools::milliseconds_text(std::numeric_limits<double>::infinity()) == tools::milliseconds_text(1e15));
}
