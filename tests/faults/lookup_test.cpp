// The system calls of a program that looks up entries, as strace lists them.
#include <regex>
#include <sstream>

#include "catch.hpp"
#include "faults/traced.hpp"

using namespace cubinet;

namespace {

constexpr int looked_up = 20;

// Runs cabinet_reader and returns its system calls, one per line.
std::string calls_of(const std::string& how, const test::Filled& root) {
  const auto log = root.folder / "log";
  const std::vector<std::string> reader = {CABINET_READER, how, root.layout.root.native(), std::to_string(looked_up)};
  const auto outcome = test::run(test::traced({"-y"}, log, reader), root.folder / "err");
  INFO(outcome.said);
  REQUIRE(outcome.status == 0);
  return test::contents(log);
}

// The lines that match `what`, a regular expression.
std::string lines_with(const std::string& calls, const std::string& what) {
  const std::regex pattern(what);
  std::string found;
  std::istringstream in(calls);
  for (std::string line; std::getline(in, line);) {
    if (std::regex_search(line, pattern)) found += line + "\n";
  }
  return found;
}

// Calls that change files. Writes to pipes are left out, because sanitizers use pipes of their own.
constexpr const char* changes =
    R"(O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|\b(write|pwrite64|writev|mkdir|mkdirat|rename|renameat2?|link|linkat|symlink|)"
    R"(unlink|unlinkat|ftruncate|truncate|chmod|fchmod|chown|utimensat|fsync|fdatasync)\((?!\d+<pipe:))";
constexpr const char* locks = R"(\bflock\(|F_(OFD_)?SETLK)";

}  // namespace

TEST_CASE("a hit takes no lock, opens no index and changes nothing, in a root and in a layer") {
  if (!test::strace_works()) CUBINET_SKIP("strace cannot trace here");
  const test::Filled root(looked_up);
  for (const char* how : {"root", "layer"}) {
    INFO(how);
    const std::string calls = calls_of(how, root);
    CHECK(lines_with(calls, changes) == "");
    CHECK(lines_with(calls, locks) == "");
    CHECK(lines_with(calls, "index\\.db") == "");
    // One file is opened for each entry. This also shows that the trace is complete.
    const std::string opened = lines_with(calls, R"(openat\(.*\.cubin".*O_RDONLY)");
    CHECK(std::count(opened.begin(), opened.end(), '\n') == looked_up);
  }
}

TEST_CASE("the patterns for changes and locks match a writer's system calls") {
  if (!test::strace_works()) CUBINET_SKIP("strace cannot trace here");
  const test::TempFolder folder;
  const auto log = folder / "log";
  const std::vector<std::string> writer = {CABINET_WRITER, folder / "root", "0", "1"};
  REQUIRE(test::run(test::traced({"-y"}, log, writer), folder / "err").status == 0);
  const std::string calls = test::contents(log);
  for (const char* call : {"openat", "mkdirat", "linkat", "unlinkat", "fsync", "write", "ftruncate"}) {
    INFO(call);
    CHECK(lines_with(lines_with(calls, changes), std::string("\\b") + call + "\\(") != "");
  }
  CHECK(lines_with(calls, locks) != "");
  CHECK(lines_with(calls, "index\\.db") != "");
}
