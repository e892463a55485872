// Tests of valid and wrong command lines.
#include "tools/command_line.hpp"

#include "catch.hpp"

namespace {

using namespace cubinet;
using tools::Command;
using tools::CommandLine;
using tools::Option;
using Words = std::vector<std::string>;

// `tool work`, with an option of each kind; its action returns 7.
struct Tool {
  Tool() : work(line.root().subcommand("work", "Works")) {
    line.root().requires_subcommand();
    work.flag("--fast", fast, "Faster");
    work.file("--file", file, "A file");
    work.option("WORDS", words, "Words").takes(0, 2);
    work.parsed(
        "--number", [](const std::string& text) { return text == "1" ? "" : "'" + text + "' is not 1"; }, "1");
    work.action([this] {
      ++runs;
      return 7;
    });
  }
  // The error for these words; empty if they are accepted.
  std::string complaint(const Words& said) {
    const auto code = line.parse(said);
    return code ? std::string() : code.error().message;
  }

  CommandLine line{"tool", "A tool.", "tool 1"};
  Command work;
  bool fast = false;
  std::string file = "none";
  Words words;
  int runs = 0;
};

}  // namespace

TEST_CASE("The command that is named is run, and its exit code is the command line's") {
  Tool tool;
  const auto code = tool.line.parse({"work", "--fast", "--file", "a", "b", "c"});
  REQUIRE(code);
  CHECK(*code == 7);
  CHECK(tool.runs == 1);
  CHECK(tool.fast);
  CHECK(tool.file == "a");
  CHECK(tool.words == Words{"b", "c"});
  CHECK(tool.line.names("work"));
}

TEST_CASE("Help has exit code 0 and runs no command") {
  Tool tool;
  const auto code = tool.line.parse({"work", "--help"});
  REQUIRE(code);
  CHECK(*code == 0);
  CHECK(tool.runs == 0);
}

TEST_CASE("A refused command line names what is wrong, and runs nothing") {
  const auto complaint = [](const Words& words) {
    Tool tool;
    std::string answer = tool.complaint(words);
    CHECK(tool.runs == 0);
    CHECK(tool.line.names("work") == (!words.empty() && words.front() == "work"));
    return answer;
  };
  CHECK(complaint({}) == "A subcommand is required; see cubinet --help");
  CHECK(complaint({"play"}) == "'play' is not a command; see cubinet --help");
  CHECK(complaint({"work", "--slow"}) == "The following argument was not expected: --slow");
  CHECK(complaint({"work", "--number", "2"}) == "--number: '2' is not 1");
  CHECK(complaint({"work", "--file", ""}) == "--file: the name of the file is empty");
  CHECK(complaint({"work", "a", "b", "c"}) != "");
}

TEST_CASE("An option that excludes or needs another is refused beside it or without it") {
  const auto complaint = [](const Words& words) {
    Tool tool;
    bool slow = false;
    bool polish = false;
    const Option option = tool.work.flag("--slow", slow, "Slower").excludes("--fast");
    tool.work.flag("--polish", polish, "Better").needs(option);
    return tool.complaint(words);
  };
  CHECK(complaint({"work", "--slow", "--fast"}) == "--fast excludes --slow");
  CHECK(complaint({"work", "--polish"}) == "--polish requires --slow");
  CHECK(complaint({"work", "--polish", "--slow"}) == "");
}

TEST_CASE("An option knows its name and whether it was given") {
  Tool tool;
  REQUIRE(tool.line.parse({"work", "--file", "a"}));
  std::string given;
  for (const Option& option : tool.work.options()) {
    if (option.given()) given += option.name();
    CHECK(option.is("--fast") == (option.name() == "--fast"));
  }
  CHECK(given == "--file");
}
