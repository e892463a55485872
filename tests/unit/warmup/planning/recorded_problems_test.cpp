// Tests of reading and writing recorded problems.
#include "warmup/planning/recorded_problems.hpp"

#include <string>
#include <vector>

#include "cache/maintenance.hpp"
#include "catch.hpp"
#include "jit/problems.hpp"
#include "unit/util/temp_folder.hpp"
#include "warmup/planning/plan.hpp"

using namespace cubinet;
namespace fs = std::filesystem;

namespace {

constexpr Problem kMasked{DataType::fp8, Layout::masked, 4096, 7168, 32};
constexpr Problem kContiguous{DataType::bf16, Layout::contiguous, 1024, 2048, 4};

cache::RecordedProblem record_of(const Problem& problem, MRange range) {
  return {jit::to_json({problem, "sm_90a"}), range.first, range.last, 0};
}

// A cabinet with two recorded problems.
struct Recorded {
  Recorded() : cabinet(cache::Cabinet::open(folder / "root", true).value()) {
    REQUIRE(cabinet.record_problems({record_of(kMasked, {1, 4096}), record_of(kContiguous, {7, 100'000})}));
  }
  test::TempFolder folder;
  cache::Cabinet cabinet;
};

const std::string sound_element =
    R"({"dtype":"fp8","layout":"masked","n":4096,"k":7168,"groups":32,"m_range":[1,64],"arch":"sm_90a","asked":5})";

std::string list_of(const std::string& elements) { return R"({"version":1,"problems":[)" + elements + "]}"; }

// `text` with `former` replaced by `part`.
std::string with(std::string text, const std::string& former, const std::string& part) {
  const auto at = text.find(former);
  REQUIRE(at != std::string::npos);
  return text.replace(at, former.size(), part);
}

Expected<warmup::RecordedProblems> read_text(const test::TempFolder& folder, const std::string& text) {
  test::write_file(folder / "problems.json", text);
  return warmup::read_recorded((folder / "problems.json").string());
}

void check_refused(const std::string& text, const std::string& words) {
  const test::TempFolder folder;
  const auto read = read_text(folder, text);
  INFO(text.substr(0, 300));
  REQUIRE_FALSE(read);
  INFO(read.error().message);
  CHECK(read.error().code == ErrorCode::invalid_argument);
  CHECK(read.error().message.find("problems.json") != std::string::npos);
  CHECK(read.error().message.find(words) != std::string::npos);
}

}  // namespace

TEST_CASE("recorded problems from a cabinet, its folder or its export are the same, sorted, with their range of M") {
  const Recorded recorded;
  const auto listed = warmup::recorded_in(cache::Maintenance(recorded.cabinet));
  REQUIRE(listed);
  const std::string file = (recorded.folder / "problems.json").string();
  test::write_file(file, warmup::recorded_json(*listed, "/somewhere"));
  for (const auto& read :
       {listed, warmup::read_recorded(recorded.cabinet.root().string()), warmup::read_recorded(file)}) {
    REQUIRE(read);
    REQUIRE(read->problems.size() == 2);
    CHECK(read->problems[0].wanted == ProblemRange{kContiguous, {7, 100'000}});
    CHECK(read->problems[1].wanted == ProblemRange{kMasked, {1, 4096}});
    CHECK(read->problems[1].architecture == "sm_90a");
    CHECK(read->problems[1].asked == listed->problems[1].asked);
    CHECK(read->skipped.empty());
  }
}

TEST_CASE("a record that this build cannot plan for is skipped with the reason, and the others are used") {
  Recorded recorded;
  Problem odd = kMasked;
  SECTION("a K that kernels do not take") {
    odd.k = 100;
    REQUIRE(recorded.cabinet.record_problems({record_of(odd, {1, 64})}));
  }
  SECTION("a type that only a later build knows") {
    const std::string later = R"({"arch":"sm_90a","dtype":"fp4","groups":32,"k":7168,"layout":"masked","n":4096})";
    REQUIRE(recorded.cabinet.record_problems({{later, 1, 64, 0}}));
  }
  SECTION("an M above what a plan takes") {
    odd.n = 8192;
    REQUIRE(recorded.cabinet.record_problems({record_of(odd, {1, largest_m() + 1})}));
  }
  const auto listed = warmup::recorded_in(cache::Maintenance(recorded.cabinet));
  REQUIRE(listed);
  CHECK(listed->problems.size() == 2);
  REQUIRE(listed->skipped.size() == 1);
  CHECK_FALSE(listed->skipped.front().reason.empty());
}

TEST_CASE("an empty list of recorded problems is an error that names the place") {
  const auto none = warmup::problems_of({}, "/opt/kernels");
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::not_found);
  CHECK(none.error().message.find("no problem is recorded in /opt/kernels") != std::string::npos);
}

TEST_CASE("if no record can be used, the error says so and gives one reason") {
  const auto none = warmup::problems_of({{}, {{"00", "00 is damaged"}, {"11", "11 is a link"}}}, "/opt/kernels");
  REQUIRE_FALSE(none);
  CHECK(none.error().message == "no record in /opt/kernels can be used, for one: 00 is damaged");
}

TEST_CASE("a file is read completely, or refused with the index of the invalid element") {
  const test::TempFolder folder;
  REQUIRE(read_text(folder, list_of(sound_element)));
  CHECK(read_text(folder, list_of(""))->problems.empty());
  // Members that a later build added.
  CHECK(read_text(folder, list_of(with(sound_element, "}", R"(,"model":"x"})")))->problems.size() == 1);

  check_refused("", "not JSON");
  check_refused("[]", "expected a JSON object");
  check_refused("{}", "is not a list of problems");
  check_refused(R"({"problems":[]})", "is not a list of problems");
  check_refused(R"({"version":1,"problems":{}})", "is not a list of problems");
  check_refused(R"({"version":2,"problems":[]})", "is of version 2");
  check_refused(list_of("7"), "problems[0]: expected an object, found number");
  check_refused(list_of(sound_element + "," + with(sound_element, "fp8", "fp4")),
                "problems[1]: dtype is neither bf16 nor fp8");
  check_refused(list_of(with(sound_element, "masked", "dense")), "layout is neither contiguous nor masked");
  check_refused(list_of(with(sound_element, R"("n":4096,)", "")), "problems[0]: n is missing");
  check_refused(list_of(with(sound_element, "7168", "7168.5")), "k is not a whole number");
  check_refused(list_of(with(sound_element, "7168", "18446744073709551615")), "k is not a whole number");
  check_refused(list_of(with(sound_element, "7168", "100")), "problems[0]: ");
  check_refused(list_of(with(sound_element, "32", "4294967328")), "groups 4294967328 are too many");
  check_refused(list_of(with(sound_element, "[1,64]", "64")), "m_range is not a list of two numbers");
  check_refused(list_of(with(sound_element, "[1,64]", "[65,64]")), "M from 65 to 64 is not a range");
  check_refused(list_of(with(sound_element, "[1,64]", "[1,99999999]")), "is not a range within 1 to");
  check_refused(list_of(with(sound_element, R"("sm_90a")", "90")), "arch is not a text");
}

TEST_CASE("a file that is too large, or has more problems than a root records, is refused") {
  check_refused(std::string(warmup::max_recorded_file_bytes + 1, ' '), "more than the");
  std::string elements = sound_element;
  for (std::size_t i = 0; i < cache::max_recorded_problems; ++i) elements += "," + sound_element;
  check_refused(list_of(elements), "holds 4097 problems, more than 4096");
}

TEST_CASE("a path that does not exist is named in the error") {
  const test::TempFolder folder;
  const auto read = warmup::read_recorded((folder / "nothing").string());
  REQUIRE_FALSE(read);
  CHECK(read.error().code == ErrorCode::not_found);
  CHECK(read.error().message.find("nothing") != std::string::npos);
  CHECK_FALSE(warmup::read_recorded(folder.path().string()));
}
