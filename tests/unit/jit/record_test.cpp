#include "jit/record.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"

using namespace cubinet;

namespace {

// One line per difference: the field and both values.
std::string difference_lines(const std::string& first, const std::string& second) {
  std::string text;
  for (const auto& one : jit::differences(first, second)) {
    text += one.field + ": " + one.first + " | " + one.second + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("Equal records have no difference") {
  CHECK(jit::differences("{}", "{}").empty());
  CHECK(jit::differences("noise", "noise").empty());
}

TEST_CASE("Each field that differs is listed once, with both values") {
  const std::string first =
      R"({"constants":{"kN":128,"kStages":4},"nvrtc":"12.8","options":["a","b"],"templates":{"a.cuh":"00","b.cuh":"11"}})";
  const std::string second =
      R"({"constants":{"kN":128,"kStages":6},"nvrtc":"13.0","options":["a"],"templates":{"a.cuh":"00","c.cuh":"11"}})";
  CHECK(difference_lines(first, second) ==
        "constants.kStages: 4 | 6\n"
        "nvrtc: \"12.8\" | \"13.0\"\n"
        "options: [\"a\",\"b\"] | [\"a\"]\n"
        "templates.b.cuh: \"11\" | \n"
        "templates.c.cuh:  | \"11\"\n");
}

TEST_CASE("A member that is an object in one record and a text in the other differs in every name") {
  CHECK(difference_lines(R"({"a":{"b":1}})", R"({"a":"b"})") == "a:  | \"b\"\na.b: 1 | \n");
}

TEST_CASE("Records that are not JSON, or are equal JSON in other bytes, differ as a whole") {
  CHECK(difference_lines("noise", "{}") == "record: \"noise\" | {}\n");
  CHECK(difference_lines(R"({"a":1})", R"({ "a":1})") == "record: {\"a\":1} | { \"a\":1}\n");
}

TEST_CASE("Records with deep nesting or invalid UTF-8 are compared without an error") {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  CHECK(jit::record_value(deep).is_string());
  CHECK(jit::differences(deep, "{}").size() == 1);
  CHECK(jit::differences("{\"a\":\"\xff\"}", "{}").size() == 1);
}
