// Tests of splitting a script into commands and words.
#include "warmup/planning/engines/shell_words.hpp"
#include "catch.hpp"

namespace {

using cubinet::warmup::engines::shell_commands;
using Words = std::vector<std::string>;

std::vector<Words> commands(std::string_view text) { return shell_commands(text).value(); }

// The words of the only command.
Words words(std::string_view text) {
  const std::vector<Words> all = commands(text);
  REQUIRE(all.size() == 1);
  return all.front();
}

}  // namespace

TEST_CASE("Words are separated by blanks, tabs and line ends") {
  CHECK(words("  --tp 8\t--ep\n8 \r\n") == Words{"--tp", "8", "--ep", "8"});
  CHECK(commands(" \n").empty());
}

TEST_CASE("A backslash at the end of a line continues the command, also with CR LF line ends") {
  CHECK(words("vllm serve m \\\n  -tp 8 \\\r\n  -ep") == Words{"vllm", "serve", "m", "-tp", "8", "-ep"});
  CHECK(words("--t\\\np 8") == Words{"--tp", "8"});
}

TEST_CASE("Quoted text with blanks or JSON is one word, without the quotes") {
  CHECK(words(R"(--eplb-config '{"a": 1, "b": "x y"}' --name "a \"b\" \$c \d")") ==
        Words{"--eplb-config", R"({"a": 1, "b": "x y"})", "--name", R"(a "b" $c \d)"});
  CHECK(words("--x='a b'c") == Words{"--x=a bc"});
  CHECK(words("--empty ''") == Words{"--empty", ""});
  CHECK(words("a\\ b") == Words{"a b"});
}

TEST_CASE("A quote that is not closed is refused with the text after it") {
  const auto refused = shell_commands("--a 'never closed");
  REQUIRE(!refused);
  CHECK(refused.error().message == "the quote before 'never closed' is not closed");
  CHECK(!shell_commands("\""));
}

TEST_CASE("Comments are ignored, and a # inside a word does not begin one") {
  CHECK(words("--tp 8 # ranks, don't split\n--ep 8 a#b") == Words{"--tp", "8", "--ep", "8", "a#b"});
}

TEST_CASE("Redirections anywhere in a command are ignored") {
  CHECK(words("serve m > log 2>&1 --tp 8 &") == Words{"serve", "m", "--tp", "8"});
  CHECK(words("serve m --tp 8 &>> 'a log' < /dev/null") == Words{"serve", "m", "--tp", "8"});
  CHECK(words("serve --json '{\"a\": \"<x>\"}' --level 2 >log") ==
        Words{"serve", "--json", R"({"a": "<x>"})", "--level", "2"});
}

TEST_CASE("Commands are separated by the same operators as in a shell") {
  CHECK(commands("cd /x && A=1 serve m 2>&1 | tee log; echo 'a;b' & wait") ==
        std::vector<Words>{{"cd", "/x"}, {"A=1", "serve", "m"}, {"tee", "log"}, {"echo", "a;b"}, {"wait"}});
  CHECK(commands("a || b;") == std::vector<Words>{{"a"}, {"b"}});
}

TEST_CASE("Variables are not expanded") { CHECK(words("--tp $TP \"$EP\"") == Words{"--tp", "$TP", "$EP"}); }
