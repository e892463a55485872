// Recorded problems in a cabinet.
#include "cache/recorded_problems.hpp"

#include <cctype>

#include "catch.hpp"
#include "unit/cache/set_clock.hpp"
#include "unit/cache/support.hpp"
#include "unit/util/faulty_calls.hpp"

using namespace cubinet;
using cache::RecordedProblem;
using test::day;
namespace fs = std::filesystem;

namespace {

std::string subject_of(int number) { return R"({"number":)" + std::to_string(number) + "}"; }

RecordedProblem asked(int number, std::int64_t first, std::int64_t last) {
  return {subject_of(number), first, last, 0};
}

fs::path file_of(const cache::Layout& layout, int number) {
  return layout.problems() / util::sha256_hex(subject_of(number));
}

std::vector<RecordedProblem> recorded(const cache::Cabinet& cabinet) {
  return cache::Maintenance(cabinet).recorded_problems()->problems;
}

// Writes as many records as the bound allows. The first one was asked for longest ago.
void write_records(const cache::Layout& layout, int count) {
  fs::create_directories(layout.problems());
  for (int i = 0; i < count; ++i) {
    test::write_file(file_of(layout, i), cache::to_text({subject_of(i), 1, 2, 1'000'000 + i}));
  }
}

}  // namespace

TEST_CASE("a record is read back with its subject, range and time") {
  test::SetClock clock;
  test::Filled root(0, {.clock = clock});
  CHECK(recorded(root.cabinet).empty());
  REQUIRE(root.cabinet.record_problems({asked(2, 1, 64), asked(1, 5, 5)}));
  CHECK(recorded(root.cabinet) ==
        std::vector<RecordedProblem>{{subject_of(1), 5, 5, clock.now}, {subject_of(2), 1, 64, clock.now}});
  CHECK(fs::is_empty(root.layout.tmp()));
}

TEST_CASE("a record's range grows with each request and never shrinks") {
  test::Filled root(0);
  for (const auto& [first, last] : {std::pair{10, 20}, {15, 40}, {5, 6}, {12, 13}}) {
    REQUIRE(root.cabinet.record_problems({asked(1, first, last)}));
  }
  REQUIRE(recorded(root.cabinet).size() == 1);
  CHECK(recorded(root.cabinet).front().first == 5);
  CHECK(recorded(root.cabinet).front().last == 40);
}

TEST_CASE("a recorded problem is written again only after a day") {
  test::SetClock clock;
  test::Filled root(0, {.clock = clock});
  const std::int64_t start = clock.now;
  REQUIRE(root.cabinet.record_problems({asked(1, 1, 64)}));
  const auto before = test::snapshot(root.layout.root);
  clock.now = start + day - 1;
  REQUIRE(root.cabinet.record_problems({asked(1, 1, 64), asked(1, 3, 10)}));
  CHECK(test::snapshot(root.layout.root) == before);
  clock.now = start + day;
  REQUIRE(root.cabinet.record_problems({asked(1, 3, 10)}));
  CHECK(recorded(root.cabinet) == std::vector<RecordedProblem>{{subject_of(1), 1, 64, start + day}});
}

TEST_CASE("the next request corrects a time that a wrong clock recorded") {
  test::SetClock clock;
  test::Filled root(0, {.clock = clock});
  const std::int64_t now = clock.now;
  clock.now = now + 4000 * day;
  REQUIRE(root.cabinet.record_problems({asked(1, 1, 1)}));
  clock.now = now;
  REQUIRE(root.cabinet.record_problems({asked(1, 1, 1)}));
  CHECK(recorded(root.cabinet).front().asked == now);
}

TEST_CASE("a read-only root refuses records, and nothing in it changes") {
  test::Filled root(1);
  auto stack = cache::Cabinet::open_stack({}, false, {root.layout.root});
  const auto before = test::snapshot(root.layout.root);
  const auto refused = stack->cabinet.record_problems({asked(1, 1, 1)});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::cache_unusable);
  CHECK(test::snapshot(root.layout.root) == before);
}

TEST_CASE("recording does not create a root again that was removed") {
  test::Filled root(0);
  fs::remove_all(root.layout.root);
  CHECK_FALSE(root.cabinet.record_problems({asked(1, 1, 1)}));
  CHECK_FALSE(fs::exists(root.layout.root));
}

TEST_CASE("a damaged, foreign or too large file in problems/ is skipped and reported, and a link is not followed") {
  test::Filled root(0);
  REQUIRE(root.cabinet.record_problems({asked(1, 1, 64)}));
  const std::string sound = test::contents(file_of(root.layout, 1));
  const std::string digits(64, 'a');
  SECTION("another file's name") { test::write_file(root.layout.problems() / digits, sound); }
  SECTION("an empty file") { test::write_file(root.layout.problems() / digits, ""); }
  SECTION("a stranger's name") { test::write_file(root.layout.problems() / "notes.txt", sound); }
  SECTION("capitals in the name") {
    std::string name = util::sha256_hex(subject_of(1));
    for (char& c : name) c = static_cast<char>(std::toupper(c));
    test::write_file(root.layout.problems() / name, sound);
  }
  SECTION("more bytes than a record has") { test::write_file(file_of(root.layout, 2), std::string(1 << 20, '[')); }
  SECTION("a link") {
    test::write_file(root.folder / "elsewhere", cache::to_text(asked(2, 1, 1)));
    fs::create_symlink(root.folder / "elsewhere", file_of(root.layout, 2));
  }
  SECTION("a folder") { fs::create_directory(file_of(root.layout, 2)); }
  const auto read = root.maintenance().recorded_problems();
  REQUIRE(read);
  CHECK(read->problems.size() == 1);
  REQUIRE(read->skipped.size() == 1);
  CHECK(read->skipped.front().damaged);
  CHECK(read->skipped.front().reason.find(read->skipped.front().name) != std::string::npos);

  const auto report = root.maintenance().verify(false).value();
  CHECK(report.damaged == std::vector<std::string>{"problems/" + read->skipped.front().name});
  const auto repaired = root.maintenance().verify(true).value();
  CHECK(repaired.not_moved == 0);
  CHECK(root.maintenance().verify(false)->damaged.empty());
  CHECK(recorded(root.cabinet).size() == 1);
}

TEST_CASE("a text that differs from what a build writes is refused as a record") {
  const std::string sound = R"({"asked":7,"m":[1,64],"subject":{"number":1},"version":1})";
  REQUIRE(cache::recorded_problem_from(sound) == RecordedProblem{subject_of(1), 1, 64, 7});
  for (const char* text :
       {"", "null", "[]", R"({"asked":7,"m":[1,64],"subject":{"number":1},"version":2})",
        R"({"asked":7,"m":[1,64],"subject":"{}","version":1})", R"({"asked":7,"m":[0,64],"subject":{},"version":1})",
        R"({"asked":7,"m":[65,64],"subject":{},"version":1})", R"({"asked":-7,"m":[1,64],"subject":{},"version":1})",
        R"({"asked":7.0,"m":[1,64],"subject":{},"version":1})", R"({"asked":7,"m":[1,64,2],"subject":{},"version":1})",
        R"({"asked":7,"m":[1,99999999999999999999],"subject":{},"version":1})",
        R"({"asked":7, "m":[1,64],"subject":{},"version":1})", R"({"asked":7,"m":[1,64],"version":1})",
        R"({"asked":7,"m":[1,64],"subject":{"b":1,"a":2},"version":1})",
        R"({"asked":7,"m":[1,64],"subject":{},"version":1,"x":1})"}) {
    INFO(text);
    CHECK_FALSE(cache::recorded_problem_from(text));
  }
  for (std::size_t i = 0; i < sound.size(); ++i) CHECK_FALSE(cache::recorded_problem_from(sound.substr(0, i)));
}

TEST_CASE("the next request replaces a damaged record") {
  test::Filled root(0);
  REQUIRE(root.cabinet.record_problems({asked(1, 1, 64)}));
  test::write_file(file_of(root.layout, 1), "half a rec");
  REQUIRE(root.cabinet.record_problems({asked(1, 8, 8)}));
  REQUIRE(recorded(root.cabinet).size() == 1);
  CHECK(recorded(root.cabinet).front().last == 8);
}

TEST_CASE("a subject that is too long for a record is refused and not written") {
  test::Filled root(0);
  const auto refused = root.cabinet.record_problems({{R"({"x":")" + std::string(5000, 'x') + R"("})", 1, 1, 0}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::invalid_argument);
  CHECK(root.maintenance().recorded_problems()->skipped.empty());
}

TEST_CASE("above the bound, the records that were asked for longest ago are removed") {
  test::Filled root(0);
  write_records(root.layout, cache::max_recorded_problems);
  const int next = cache::max_recorded_problems;
  REQUIRE(root.cabinet.record_problems({asked(next, 1, 1), asked(next + 1, 1, 1)}));
  CHECK(recorded(root.cabinet).size() == cache::max_recorded_problems);
  CHECK_FALSE(fs::exists(file_of(root.layout, 0)));
  CHECK_FALSE(fs::exists(file_of(root.layout, 1)));
  CHECK(fs::exists(file_of(root.layout, 2)));
  CHECK(fs::exists(file_of(root.layout, next + 1)));
}

TEST_CASE("processes that record the same problem at once leave one whole file that contains all their ranges") {
  test::Filled root(0);
  std::vector<pid_t> children;
  for (int child = 0; child < 8; ++child) {
    children.push_back(test::start_child([&] {
      auto cabinet = cache::Cabinet::open(root.layout.root, false);
      return cabinet->record_problems({asked(1, 10 - child, 100 + child), asked(2, 1, 1)}) ? 0 : 1;
    }));
  }
  for (const pid_t child : children) CHECK(test::wait_for(child) == 0);
  const auto problems = recorded(root.cabinet);
  REQUIRE(problems.size() == 2);
  CHECK(problems.front().first == 3);
  CHECK(problems.front().last == 107);
  CHECK(root.maintenance().recorded_problems()->skipped.empty());
}

TEST_CASE("recording on a failing disk is an error and leaves only whole records") {
  test::FaultyCalls counting;
  {
    test::Filled root(0, {.calls = counting});
    counting.calls = 0;
    REQUIRE(root.cabinet.record_problems({asked(1, 1, 64)}));
  }
  REQUIRE(counting.calls >= 8);
  for (int i = 0; i < counting.calls; ++i) {
    INFO("call " << i);
    test::FaultyCalls calls;
    test::Filled root(0, {.calls = calls});
    calls.calls = 0;
    calls.fail_at = i;
    static_cast<void>(root.cabinet.record_problems({asked(1, 1, 64)}));
    calls.fail_at = -1;
    CHECK(fs::is_empty(root.layout.tmp()));
    CHECK(root.maintenance().recorded_problems()->skipped.empty());
    REQUIRE(root.cabinet.record_problems({asked(1, 1, 64)}));
    CHECK(recorded(root.cabinet).size() == 1);
  }
}

TEST_CASE("a removed problem is not recorded again until it is asked for") {
  test::Filled root(0);
  REQUIRE(root.cabinet.record_problems({asked(1, 1, 64), asked(2, 1, 64)}));
  CHECK(root.maintenance().forget_problem(subject_of(1)).value());
  CHECK_FALSE(root.maintenance().forget_problem(subject_of(1)).value());
  REQUIRE(recorded(root.cabinet).size() == 1);
  REQUIRE(root.cabinet.record_problems({asked(1, 2, 3)}));
  CHECK(recorded(root.cabinet).front().first == 2);
}

TEST_CASE("a root with a link in place of problems/ is refused") {
  test::Filled root(0);
  fs::create_directory(root.folder / "elsewhere");
  fs::create_directory_symlink(root.folder / "elsewhere", root.layout.problems());
  CHECK_FALSE(root.cabinet.record_problems({asked(1, 1, 1)}));
  CHECK(fs::is_empty(root.folder / "elsewhere"));
  CHECK(cache::Cabinet::open(root.layout.root, false).error().code == ErrorCode::cache_unusable);
}
