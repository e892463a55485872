#include "cache/flat_json.hpp"

#include "catch.hpp"
#include "unit/util/failing_memory.hpp"

using namespace cubinet;
using cache::FlatValue;
using cache::Texts;

TEST_CASE("Numbers, strings and lists of strings are read by name, and values of other types are reported as present") {
  const auto read = cache::read_flat_object(
      R"({"a":-1,"b":1.5,"c":"text","d":["x","y"],"e":[],"f":[1],"g":{"a":2,"h":"inner"},"i":null,"j":[["x"]],)"
      R"("k":18446744073709551615,"l":["x",{"m":"y"}],"a":7})");
  REQUIRE(read);
  CHECK(read->at("a") == FlatValue(std::int64_t{7}));
  CHECK(read->at("b") == FlatValue(1.5));
  CHECK(read->at("c") == FlatValue(std::string("text")));
  CHECK(read->at("d") == FlatValue(Texts{"x", "y"}));
  CHECK(read->at("e") == FlatValue(Texts{}));
  for (const char* other : {"f", "g", "i", "j", "k", "l"}) {
    INFO(other);
    CHECK(read->at(other) == FlatValue());
  }
  CHECK(read->size() == 11);
}

TEST_CASE("A value that is not an object, or not a list of strings, is refused") {
  for (const char* text : {"", "[]", "1", "\"x\"", "{", "{}x", "{\"a\":}", "[{\"a\":1}]"}) {
    INFO(text);
    CHECK_FALSE(cache::read_flat_object(text));
  }
  CHECK(cache::read_texts(R"(["a","b"])") == Texts{"a", "b"});
  CHECK(cache::read_texts("[]") == Texts{});
  for (const char* text : {"", "{}", R"({"a":["x"]})", "[1]", R"([["a"]])", R"(["a",{"b":"c"}])", R"(["a")", "\"a\""}) {
    INFO(text);
    CHECK_FALSE(cache::read_texts(text));
  }
}

TEST_CASE("Running out of memory while reading throws an exception and does not end the process") {
  if (!test::memory_can_fail) CUBINET_SKIP(test::no_failing_memory);
  const std::string json = R"({"name":"a text that is too long to be kept without memory","list":["a","b","c"],"n":1})";
  CHECK(test::failures_for_want_of_memory([&] { static_cast<void>(cache::read_flat_object(json)); }) > 5);
}
