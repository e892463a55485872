// Tests that each problem that an engine starts with, prepares or misses in a launch is recorded in the cabinet.
#include "jit/asked_problems.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <thread>

#include "cache/maintenance.hpp"
#include "catch.hpp"
#include "engine_world.hpp"
#include "jit/families/registry.hpp"
#include "jit/problems.hpp"

using namespace cubinet;
using test::parts_with_cabinet;
using test::World;

namespace {

constexpr Problem kAskedMasked{.layout = Layout::masked, .n = 512, .k = 256, .groups = 4};
constexpr Problem kAskedContiguous{.layout = Layout::contiguous, .n = 512, .k = 256, .groups = 2};
// Different configurations are selected for these M.
constexpr std::int64_t kOnce = 1024, kOften = 100'000;

using Recorded = std::map<std::string, std::pair<std::int64_t, std::int64_t>>;

std::string subject(const Problem& problem) { return jit::to_json({problem, "sm_90a"}); }

Recorded recorded_in(const test::TempFolder& folder) {
  Recorded recorded;
  const auto cabinet = cache::Cabinet::open(folder.path() / "root", false);
  const auto problems = cache::Maintenance(*cabinet).recorded_problems().value().problems;
  for (const auto& one : problems) recorded[one.subject] = {one.first, one.last};
  return recorded;
}

// Waits for the engine's thread.
bool is_recorded(const test::TempFolder& folder, const Recorded& wanted) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (recorded_in(folder) != wanted) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

ContiguousArguments arguments_for(std::int64_t m) {
  ContiguousArguments made;
  made.a = made.b = reinterpret_cast<const void*>(0x10000);
  made.d = reinterpret_cast<void*>(0x10000);
  made.m_indices = reinterpret_cast<const std::int32_t*>(0x10000);
  made.m = m;
  return made;
}

// The range of M for which the kernel of `m` is selected.
MRange stretch_of(std::int64_t m) {
  for (const auto& one : jit::families().selections(kAskedContiguous, {1, largest_m()})) {
    if (one.range.first <= m && m <= one.range.last) return one.range;
  }
  return {};
}

double milliseconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

TEST_CASE("A problem's text is parsed back to the same problem, and other texts are refused") {
  const jit::ProblemSubject fp8{{DataType::fp8, Layout::contiguous, 4096, 7168, 32}, "sm_90a"};
  const std::string text = R"({"arch":"sm_90a","dtype":"fp8","groups":32,"k":7168,"layout":"contiguous","n":4096})";
  CHECK(jit::to_json(fp8) == text);
  CHECK(jit::problem_subject_from(text) == fp8);
  CHECK(jit::problem_subject_from(subject(kAskedMasked)) == jit::ProblemSubject{kAskedMasked, "sm_90a"});
  for (const char* other :
       {"", "{}", "[1]", R"({"arch":"sm_90a","dtype":"fp4","groups":32,"k":7168,"layout":"contiguous","n":4096})",
        R"({"arch":"sm_90a","dtype":"fp8","groups":32.5,"k":7168,"layout":"contiguous","n":4096})",
        R"({"arch":"sm_90a","dtype":"fp8","groups":32,"k":7168,"layout":"contiguous","n":4096,"top":1})"}) {
    CHECK_FALSE(jit::problem_subject_from(other));
  }
}

TEST_CASE("A range within those noted before is not recorded again, and M is limited to a plan's largest") {
  jit::AskedProblems asked;
  CHECK(asked.note(kAskedMasked, {4, 64}, "sm_90a"));
  CHECK_FALSE(asked.note(kAskedMasked, {5, 64}, "sm_90a"));
  CHECK(asked.note(kAskedMasked, {5, 65}, "sm_90a"));
  REQUIRE(asked.take().size() == 1);
  CHECK(asked.take().empty());
  CHECK(asked.note(kAskedMasked, {1, std::numeric_limits<std::int64_t>::max()}, "sm_90a"));
  CHECK_FALSE(asked.note(kAskedMasked, {1, largest_m() + 1}, "sm_90a"));
  const auto taken = asked.take();
  REQUIRE(taken.size() == 1);
  CHECK(taken.front().first == 1);
  CHECK(taken.front().last == largest_m());
}

TEST_CASE("Problems that an engine prepares are recorded while it runs, with their range of M") {
  const test::TempFolder folder;
  World world;
  jit::Engine engine(parts_with_cabinet(world, folder));
  REQUIRE(engine.prepare({{kAskedMasked, {1, 4096}}, {kAskedContiguous, {1, kOnce}}}, nullptr));
  CHECK(is_recorded(folder, {{subject(kAskedMasked), {1, 4096}}, {subject(kAskedContiguous), {1, kOnce}}}));
  REQUIRE(engine.prepare(kAskedMasked, {5000, 5000}, nullptr));
  CHECK(is_recorded(folder, {{subject(kAskedMasked), {1, 5000}}, {subject(kAskedContiguous), {1, kOnce}}}));
}

TEST_CASE("Problems of a start are recorded when the engine is destroyed, even if the start failed") {
  const test::TempFolder folder;
  World world;
  {
    auto parts = parts_with_cabinet(world, folder);
    parts.miss = MissPolicy::error;
    CHECK_FALSE(jit::Engine(std::move(parts)).prepare(kAskedMasked, {1, 64}, nullptr));
  }
  CHECK(recorded_in(folder) == Recorded{{subject(kAskedMasked), {1, 64}}});
}

TEST_CASE("A problem that no kernel supports is not recorded") {
  const test::TempFolder folder;
  World world;
  {
    jit::Engine engine(parts_with_cabinet(world, folder));
    Problem odd = kAskedMasked;
    odd.k = 100;
    CHECK_FALSE(engine.prepare(odd, {1, 64}, nullptr));
    CHECK_FALSE(engine.prepare(kAskedMasked, {64, 1}, nullptr));
  }
  CHECK(recorded_in(folder).empty());
}

TEST_CASE("A miss in a launch extends the record by all M of the missed kernel, with any miss policy") {
  const MRange missed = stretch_of(kOften);
  REQUIRE(missed.first > kOnce);
  for (const MissPolicy policy : {MissPolicy::compile, MissPolicy::fallback, MissPolicy::error}) {
    INFO(static_cast<int>(policy));
    const test::TempFolder folder;
    World world;
    { REQUIRE(jit::Engine(parts_with_cabinet(world, folder)).prepare(kAskedContiguous, {1, kOnce}, nullptr)); }
    {
      auto parts = parts_with_cabinet(world, folder);
      parts.miss = policy;
      jit::Engine engine(std::move(parts));
      const auto gemm = engine.prepare(kAskedContiguous, {1, kOnce}, nullptr);
      REQUIRE(gemm);
      CHECK(gemm->launch(arguments_for(kOften), nullptr).has_value() == (policy != MissPolicy::error));
      CHECK(is_recorded(folder, {{subject(kAskedContiguous), {1, missed.last}}}));
    }
  }
}

TEST_CASE("A launch that fails because its stream is being captured records nothing") {
  const test::TempFolder folder;
  World world;
  {
    jit::Engine engine(parts_with_cabinet(world, folder));
    const auto gemm = engine.prepare(kAskedContiguous, {1, kOnce}, nullptr);
    REQUIRE(gemm);
    const auto stream = reinterpret_cast<CUstream>(0x77);
    test::fake_device().captured = stream;
    CHECK_FALSE(gemm->launch(arguments_for(kOften), stream));
  }
  CHECK(recorded_in(folder) == Recorded{{subject(kAskedContiguous), {1, kOnce}}});
}

TEST_CASE("A start from a read-only root records nothing and does not warn about it") {
  const test::TempFolder folder;
  World world;
  { REQUIRE(jit::Engine(parts_with_cabinet(world, folder)).prepare(kAskedMasked, {1, 64}, nullptr)); }
  std::filesystem::remove_all(folder.path() / "root" / "problems");
  {
    auto parts = test::parts_for(world);
    parts.cabinet = cache::Cabinet::open_stack({}, false, {folder.path() / "root"}).value().cabinet;
    StartReport report;
    REQUIRE(jit::Engine(std::move(parts)).prepare({{kAskedMasked, {1, 64}}}, &report));
    CHECK(report.missing == 0);
    CHECK(report.warning.empty());
  }
  CHECK_FALSE(std::filesystem::exists(folder.path() / "root" / "problems"));
}

TEST_CASE("Noting eight problems that are already recorded takes a start well under a millisecond") {
  const test::TempFolder folder;
  World world;
  std::vector<ProblemRange> problems;
  for (std::int32_t groups = 1; groups <= 8; ++groups) {
    problems.push_back({{.layout = Layout::masked, .n = 512, .k = 256, .groups = groups}, {1, 64}});
  }
  { REQUIRE(jit::Engine(parts_with_cabinet(world, folder)).prepare(problems, nullptr)); }
  jit::AskedProblems asked;
  for (const ProblemRange& one : problems) REQUIRE(asked.note(one.problem, one.range, "sm_90a"));
  const auto recorded = asked.take();
  auto cabinet = cache::Cabinet::open(folder.path() / "root", false).value();
  double noting = 1e9, reading = 1e9;
  for (int attempt = 0; attempt < 20; ++attempt) {
    jit::KernelStore store(parts_with_cabinet(world, folder));
    noting = std::min(noting, milliseconds_of([&] { store.note_asked(problems, "sm_90a"); }));
    reading = std::min(reading, milliseconds_of([&] { CHECK(cabinet.record_problems(recorded)); }));
  }
  INFO("noting on the path of the start " << noting << " ms, reading beside it " << reading << " ms");
#ifndef CUBINET_ADDRESS_SANITIZER  // instrumented code takes longer
  CHECK(noting + reading < 1);
#endif
}
