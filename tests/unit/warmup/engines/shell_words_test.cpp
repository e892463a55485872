// How a command line is split into words.
#include "warmup/engines/shell_words.hpp"
#include "catch.hpp"

namespace {

using cubinet::warmup::engines::shell_words;
using Words = std::vector<std::string>;

Words words(std::string_view text) { return shell_words(text).value(); }

}  // namespace

TEST_CASE("Words are separated by blanks, tabs and line ends") {
  CHECK(words("  --tp 8\t--ep\n8 \r\n") == Words{"--tp", "8", "--ep", "8"});
  CHECK(words("").empty());
}

TEST_CASE("A backslash at the end of a line continues the command, also with Windows' line ends") {
  CHECK(words("vllm serve m \\\n  -tp 8 \\\r\n  -ep") == Words{"vllm", "serve", "m", "-tp", "8", "-ep"});
  CHECK(words("--t\\\np 8") == Words{"--tp", "8"});
}

TEST_CASE("Quotes keep blanks and JSON together and are dropped") {
  CHECK(words(R"(--eplb-config '{"a": 1, "b": "x y"}' --name "a \"b\" \$c \d")") ==
        Words{"--eplb-config", R"({"a": 1, "b": "x y"})", "--name", R"(a "b" $c \d)"});
  CHECK(words("--x='a b'c") == Words{"--x=a bc"});
  CHECK(words("--empty ''") == Words{"--empty", ""});
  CHECK(words("a\\ b") == Words{"a b"});
}

TEST_CASE("A quote that is not closed is refused with the text after it") {
  const auto refused = shell_words("--a 'never closed");
  REQUIRE(!refused);
  CHECK(refused.error().message == "the quote before 'never closed' is not closed");
  CHECK(!shell_words("\""));
}

TEST_CASE("Comments are left out, a # inside a word is none") {
  CHECK(words("--tp 8 # ranks, don't split\n--ep 8 a#b") == Words{"--tp", "8", "--ep", "8", "a#b"});
}

TEST_CASE("What follows the command in the shell is no part of it") {
  CHECK(words("serve m --tp 8 > log 2>&1 &") == Words{"serve", "m", "--tp", "8"});
  CHECK(words("serve m --tp 8 2>&1 | tee log") == Words{"serve", "m", "--tp", "8"});
  CHECK(words("serve --json '{\"a\": \"<x>\"}'; echo done") == Words{"serve", "--json", R"({"a": "<x>"})"});
}

TEST_CASE("Variables stay as they are written") { CHECK(words("--tp $TP \"$EP\"") == Words{"--tp", "$TP", "$EP"}); }
