#include "warmup/campaign/runner.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "catch.hpp"
#include "jit/families/registry.hpp"
#include "unit/cache/support.hpp"
#include "unit/util/faulty_calls.hpp"
#include "unit/util/temp_folder.hpp"

namespace {

using namespace cubinet;
using namespace std::chrono_literals;
using warmup::Plan;
using warmup::Report;
using warmup::warm;
namespace fs = std::filesystem;

constexpr auto patience = 20s;

// A fake compiler: thread-safe, counts calls, and fails for the kernels that the test names.
class FakeCompiler : public jit::Compiler {
 public:
  std::set<jit::KernelSpec> broken;    // fail with a log
  std::set<jit::KernelSpec> throwing;  // fail with an exception
  int wait_for = 0;                    // each compilation lasts until this many have run at once
  std::function<void()> on_compile;

  [[nodiscard]] std::string version() const override { return "13.0"; }

  Expected<jit::CompiledKernel> compile(const jit::KernelSpec& spec) override {
    if (on_compile) on_compile();
    enter();
    if (throwing.count(spec) != 0) throw std::runtime_error("out of paper");
    if (broken.count(spec) != 0) return fail(ErrorCode::compile_failed, "does not compile", "line 7: no such thing");
    jit::CompiledKernel kernel;
    kernel.cubin = "cubin of " + spec.family_name() + " " + spec.config;
    return kernel;
  }

  [[nodiscard]] int calls() const { return calls_; }
  [[nodiscard]] int most_at_once() const { return most_at_once_; }

 private:
  void enter() {
    std::unique_lock lock(mutex_);
    ++calls_;
    most_at_once_ = std::max(most_at_once_, ++at_once_);
    changed_.notify_all();
    changed_.wait_for(lock, patience, [this] { return most_at_once_ >= wait_for; });
    --at_once_;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int calls_ = 0;
  int at_once_ = 0;
  int most_at_once_ = 0;
};

// `count` distinct kernels.
Plan plan_of(int count) {
  Plan plan;
  for (int i = 1; i <= count; ++i) {
    Problem problem;
    problem.layout = i % 2 == 0 ? Layout::masked : Layout::contiguous;
    problem.n = 128 * i;
    problem.k = 64;
    problem.groups = 4;
    const auto spec = jit::families().select(problem, 64);
    plan.kernels.push_back({spec, {{problem, {{1, 64}}}}});
  }
  return plan;
}

cache::Key key_of(const warmup::PlannedKernel& kernel) { return jit::key_of(kernel.spec); }

struct TemporaryCabinet {
  TemporaryCabinet() {
    auto opened = cache::Cabinet::open(folder / "cabinet", true);
    REQUIRE(opened);
    cabinet.emplace(*std::move(opened));
  }
  test::TempFolder folder;
  std::optional<cache::Cabinet> cabinet;
};

}  // namespace

TEST_CASE("The kernels that take longest to compile are started first") {
  const Problem problem{.layout = Layout::masked, .n = 1024, .k = 512, .groups = 4};
  warmup::PlanRequest request;
  request.problems = {{problem, {1, 16384}}};
  const auto plan = warmup::make_plan(request);
  REQUIRE(plan);
  REQUIRE(plan->kernels.size() >= 2);
  FakeCompiler compiler;
  std::vector<std::int64_t> weights;
  warm(*plan, compiler, nullptr, 1,
       [&](const warmup::Step& step) { weights.push_back(step.latest.family->compile_weight(step.latest)); });
  REQUIRE(weights.size() == plan->kernels.size());
  CHECK(std::is_sorted(weights.rbegin(), weights.rend()));
  CHECK(weights.front() > weights.back());
}

TEST_CASE("A kernel without a configuration is compiled with the others, after those that take longer") {
  Plan plan = plan_of(2);
  const jit::KernelSpec quantization = jit::families().quantization("sm_90a")->spec();
  plan.kernels.insert(plan.kernels.begin(), {quantization, plan.kernels.front().uses});
  FakeCompiler compiler;
  std::vector<jit::KernelSpec> order;
  const Report report =
      warm(plan, compiler, nullptr, 1, [&](const warmup::Step& step) { order.push_back(step.latest); });
  CHECK(report.compiled == 3);
  REQUIRE(order.size() == 3);
  CHECK((order.back() == quantization));
}

TEST_CASE("A second warmup compiles nothing, and its hits are recorded") {
  TemporaryCabinet temporary;
  const Plan plan = plan_of(5);
  FakeCompiler compiler;
  CHECK(warmup::look_for_missing(plan, *temporary.cabinet).kernels == 5);
  const Report first = warm(plan, compiler, &*temporary.cabinet, 2, {});
  CHECK(first.compiled == 5);
  CHECK(first.hits == 0);
  CHECK(first.persist == cache::Persistence::on);
  CHECK(first.persist_problem.empty());
  CHECK(warmup::look_for_missing(plan, *temporary.cabinet).kernels == 0);

  const Report second = warm(plan, compiler, &*temporary.cabinet, 2, {});
  CHECK(second.compiled == 0);
  CHECK(second.hits == 5);
  CHECK(second.failed.empty());
  CHECK(compiler.calls() == 5);
  const auto entries = test::entries_of(*temporary.cabinet);
  REQUIRE(entries);
  CHECK(entries->size() == 5);
  for (const auto& entry : *entries) CHECK(entry.hits == 1);
}

TEST_CASE("Kernels that are evicted before the end of a run do not count as stored, and the report gives the reason") {
  test::TempFolder folder;
  auto cabinet = cache::Cabinet::open(folder / "cabinet", true, {.limits = {.entries = 4}}).value();
  FakeCompiler compiler;
  const Report small = warm(plan_of(2), compiler, &cabinet, 1, {});
  CHECK(small.stored == 2);
  CHECK(small.persist == cache::Persistence::on);
  const Report report = warm(plan_of(8), compiler, &cabinet, 1, {});
  CHECK(report.compiled == 6);
  CHECK(report.stored + report.hits >= 4);
  const auto left = test::entries_of(cabinet).value();
  CHECK(left.size() <= 4);
  CHECK(report.stored_keys.size() + report.hit_keys.size() == left.size());
  CHECK(report.stored == static_cast<std::int64_t>(report.stored_keys.size()));
  CHECK(report.stored < report.compiled);
  CHECK(report.persist == cache::Persistence::off);
  CHECK(report.persist_problem.find("CUBINET_CACHE_MAX_ENTRIES") != std::string::npos);
  CHECK(report.persist_problem.starts_with(std::to_string(8 - left.size()) + " of 8 kernels"));
}

TEST_CASE("Kernels that are removed from the cabinet during a run are not reported as evicted") {
  test::TempFolder folder;
  auto cabinet = cache::Cabinet::open(folder / "cabinet", true).value();
  FakeCompiler compiler;
  const auto remove_objects = [&](const warmup::Step& step) {
    if (step.done != 3) return;
    for (const auto& shard : fs::directory_iterator(folder / "cabinet/objects")) fs::remove_all(shard.path());
  };
  const Report report = warm(plan_of(3), compiler, &cabinet, 1, remove_objects);
  CHECK(report.stored == 0);
  CHECK(report.persist == cache::Persistence::off);
  CHECK(report.persist_problem.find("not evicted") != std::string::npos);
  CHECK(report.persist_problem.find("CUBINET_CACHE_MAX") == std::string::npos);
}

TEST_CASE("A kernel that does not compile is reported with its log and not stored, and the others continue") {
  TemporaryCabinet temporary;
  const Plan plan = plan_of(5);
  FakeCompiler compiler;
  compiler.broken.insert(plan.kernels[1].spec);
  compiler.throwing.insert(plan.kernels[3].spec);
  for (const int expected_compiled : {3, 0}) {
    const Report report = warm(plan, compiler, &*temporary.cabinet, 2, {});
    CHECK(report.compiled == expected_compiled);
    CHECK(report.remaining.empty());
    REQUIRE(report.failed.size() == 2);
    CHECK(report.failed[0].key == key_of(plan.kernels[1]).hex());
    CHECK(report.failed[0].family == plan.kernels[1].spec.family_name());
    CHECK(report.failed[0].error.code == ErrorCode::compile_failed);
    CHECK(report.failed[0].error.detail == "line 7: no such thing");
    CHECK(report.failed[1].key == key_of(plan.kernels[3]).hex());
    CHECK(report.failed[1].error.message == plan.kernels[3].spec.family_name() + ": out of paper");
  }
  CHECK(warmup::look_for_missing(plan, *temporary.cabinet).kernels == 2);
  const auto entries = test::entries_of(*temporary.cabinet);
  REQUIRE(entries);
  CHECK(entries->size() == 3);
}

TEST_CASE("Kernels are compiled by as many threads as there are jobs, and by no more") {
  const Plan plan = plan_of(9);
  for (const int jobs : {1, 3}) {
    FakeCompiler compiler;
    compiler.wait_for = jobs;
    const Report report = warm(plan, compiler, nullptr, jobs, {});
    CHECK(report.compiled == 9);
    CHECK(compiler.most_at_once() == jobs);
  }
}

TEST_CASE("Progress is reported after each kernel, in order, by one thread at a time") {
  const Plan plan = plan_of(12);
  FakeCompiler compiler;
  std::vector<std::int64_t> seen;
  std::atomic<int> inside{0};
  bool overlapped = false;
  std::set<jit::KernelSpec> specs;
  warm(plan, compiler, nullptr, 4, [&](const warmup::Step& step) {
    overlapped = overlapped || inside.fetch_add(1) != 0;
    CHECK(step.total == 12);
    seen.push_back(step.done);
    specs.insert(step.latest);
    inside.fetch_sub(1);
  });
  CHECK(seen == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  CHECK(specs.size() == 12);
  CHECK_FALSE(overlapped);
}

TEST_CASE("Progress reports the outcome of each kernel") {
  TemporaryCabinet temporary;
  const Plan plan = plan_of(3);
  FakeCompiler compiler;
  compiler.broken.insert(plan.kernels[1].spec);
  warm({{plan.kernels[0]}}, compiler, &*temporary.cabinet, 1, {});
  std::map<jit::KernelSpec, warmup::Outcome> outcomes;
  const Report report = warm(plan, compiler, &*temporary.cabinet, 1,
                             [&](const warmup::Step& step) { outcomes.emplace(step.latest, step.outcome); });
  CHECK(outcomes == std::map<jit::KernelSpec, warmup::Outcome>{{plan.kernels[0].spec, warmup::Outcome::there},
                                                               {plan.kernels[1].spec, warmup::Outcome::failed},
                                                               {plan.kernels[2].spec, warmup::Outcome::compiled}});
  CHECK(report.stored == 1);
}

TEST_CASE("Any exception from the progress callback is ignored") {
  TemporaryCabinet temporary;
  FakeCompiler compiler;
  compiler.wait_for = 3;
  std::atomic<int> calls{0};
  const Report report = warm(plan_of(9), compiler, &*temporary.cabinet, 3, [&](const warmup::Step&) {
    if (calls.fetch_add(1) % 2 == 0) throw std::runtime_error("standard error is full");
    throw 1;
  });
  CHECK(calls == 9);
  CHECK(report.compiled == 9);
  CHECK(report.stored == 9);
  CHECK(report.remaining.empty());
}

TEST_CASE("A stopped run starts no further kernel and reports the remaining ones") {
  TemporaryCabinet temporary;
  const Plan plan = plan_of(6);
  std::atomic<bool> stop{false};
  FakeCompiler compiler;
  compiler.on_compile = [&] { stop = true; };
  const Report report = warm(plan, compiler, &*temporary.cabinet, 1, {}, &stop);
  CHECK(report.compiled == 1);
  CHECK(report.remaining.size() == 5);
  for (const std::string& key : report.remaining) CHECK_FALSE(temporary.cabinet->holds(*cache::Key::from_hex(key)));

  FakeCompiler rest;
  const Report second = warm(plan, rest, &*temporary.cabinet, 1, {});
  CHECK(second.hits == 1);
  CHECK(second.compiled == 5);
  CHECK(second.remaining.empty());
}

TEST_CASE("Without a cabinet everything is compiled and nothing persists") {
  FakeCompiler compiler;
  const Report report = warm(plan_of(2), compiler, nullptr, 1, {});
  CHECK(report.compiled == 2);
  CHECK(report.stored == 0);
  CHECK(report.persist == cache::Persistence::off);
}

TEST_CASE("A kernel that cannot be stored is compiled all the same, and the report gives the reason") {
  TemporaryCabinet temporary;
  const fs::path objects = cache::Layout{temporary.cabinet->root()}.objects();
  fs::remove_all(objects);
  {
    const int file = creat(objects.c_str(), 0600);
    REQUIRE(file >= 0);
    close(file);
  }
  FakeCompiler compiler;
  const Report report = warm(plan_of(2), compiler, &*temporary.cabinet, 1, {});
  CHECK(report.compiled == 2);
  CHECK(report.stored == 0);
  CHECK(report.failed.empty());
  CHECK_FALSE(report.persist_problem.empty());
  CHECK(report.persist == cache::Persistence::off);
}

TEST_CASE("A run starts no further kernel after no_room, and continues after any other error of storing") {
  for (const int error : {ENOSPC, EDQUOT, EROFS, EFBIG, EMFILE, ENFILE, EIO}) {
    INFO("error " << error);
    const test::TempFolder folder;
    test::FaultyCalls calls;
    auto cabinet = cache::Cabinet::open(folder / "cabinet", true, {.calls = calls});
    REQUIRE(cabinet);
    const Plan plan = plan_of(4);
    FakeCompiler compiler;
    calls.error = error;
    compiler.on_compile = [&] {
      if (calls.fail_at < 0) calls.fail_at = calls.calls;  // the first call of the first publication
    };
    const Report report = warm(plan, compiler, &*cabinet, 1, {});
    CHECK(report.no_room == (error != EIO));
    CHECK(report.compiled == (error == EIO ? 4 : 1));
    CHECK(report.remaining.size() == (error == EIO ? 0U : 3U));
    CHECK(report.stored == report.compiled - 1);
    CHECK(report.persist == cache::Persistence::off);
    CHECK(report.persist_problem.find(std::generic_category().message(error)) != std::string::npos);
  }
}

TEST_CASE("An empty plan is done at once") {
  FakeCompiler compiler;
  const Report report = warm({}, compiler, nullptr, 4, {});
  CHECK(report.compiled == 0);
  CHECK(report.remaining.empty());
}

TEST_CASE("A kernel that another process is compiling is deferred to the end and found then") {
  TemporaryCabinet temporary;
  cache::Cabinet& cabinet = *temporary.cabinet;
  const Plan plan = plan_of(4);
  FakeCompiler theirs;
  FakeCompiler ours;
  // The kernel that a run starts first.
  std::vector<jit::KernelSpec> order;
  warm(plan, theirs, nullptr, 1, [&](const warmup::Step& step) { order.push_back(step.latest); });
  std::optional<cache::Claim> held(cabinet.claim(jit::key_of(order.front())));
  REQUIRE(held->mine());
  std::vector<jit::KernelSpec> seen;
  const Report report = warm(plan, ours, &cabinet, 1, [&](const warmup::Step& step) {
    seen.push_back(step.latest);
    if (seen.size() == 3) static_cast<void>(jit::provide(order.front(), theirs, &cabinet, 0ms));
  });
  REQUIRE(seen.size() == 4);
  CHECK((seen.back() == order.front()));
  CHECK(report.compiled == 3);
  CHECK(report.hits == 1);
  CHECK(report.shared == 1);
  CHECK(report.remaining.empty());
  CHECK(ours.calls() == 3);
  CHECK(cache::Maintenance(cabinet).stats()->hits == 1);
}

TEST_CASE("A kernel that was present before the run counts as a hit and not as shared") {
  TemporaryCabinet temporary;
  FakeCompiler compiler;
  warm(plan_of(3), compiler, &*temporary.cabinet, 1, {});
  const Report report = warm(plan_of(3), compiler, &*temporary.cabinet, 2, {});
  CHECK(report.hits == 3);
  CHECK(report.shared == 0);
}

TEST_CASE("A kernel whose compiling process does not finish is compiled after the rest, when patience ends") {
  TemporaryCabinet temporary;
  cache::Cabinet& cabinet = *temporary.cabinet;
  const Plan plan = plan_of(3);
  const cache::Claim held = cabinet.claim(key_of(plan.kernels[1]));
  FakeCompiler compiler;
  std::vector<jit::KernelSpec> seen;
  const Report report =
      warm(plan, compiler, &cabinet, 2, [&](const warmup::Step& step) { seen.push_back(step.latest); }, nullptr,
           {.patience = 100ms, .waits = {}});
  CHECK(report.compiled == 3);
  CHECK(report.stored == 3);
  CHECK(report.seconds >= 0.1);
  CHECK((seen.back() == plan.kernels[1].spec));
}

TEST_CASE("A run that is stopped while it waits for another process stops waiting") {
  TemporaryCabinet temporary;
  cache::Cabinet& cabinet = *temporary.cabinet;
  const Plan plan = plan_of(2);
  const cache::Claim held = cabinet.claim(key_of(plan.kernels[1]));
  FakeCompiler compiler;
  std::atomic<bool> stop{false};
  std::jthread stopper([&] {
    std::this_thread::sleep_for(200ms);
    stop = true;
  });
  const Report report = warm(plan, compiler, &cabinet, 2, {}, &stop, {.patience = 100s, .waits = {}});
  CHECK(report.compiled == 1);
  CHECK(report.remaining.size() == 1);
  CHECK(report.seconds < 50);
}

TEST_CASE("A run reports the process that it waits for at each attempt, and never itself") {
  TemporaryCabinet temporary;
  cache::Cabinet& cabinet = *temporary.cabinet;
  const Plan plan = plan_of(2);
  FakeCompiler compiler;
  std::vector<std::int64_t> named;
  const warmup::Sharing sharing{.patience = 100ms, .waits = [&](std::int64_t holder) { named.push_back(holder); }};
  {
    const cache::Claim own = cabinet.claim(key_of(plan.kernels[0]));
    warm({{plan.kernels[0]}}, compiler, &cabinet, 1, {}, nullptr, sharing);
    CHECK(named.empty());
  }
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t holder = test::start_child([&] {
    const cache::Claim claim = cabinet.claim(key_of(plan.kernels[1]));
    if (!claim.mine() || write(ready[1], "x", 1) != 1) return 1;
    while (true) pause();
  });
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  warm(plan, compiler, &cabinet, 1, {}, nullptr, sharing);
  CHECK(named.size() > 1);
  CHECK(std::count(named.begin(), named.end(), holder) == static_cast<std::ptrdiff_t>(named.size()));
  kill(holder, SIGKILL);
  test::wait_for(holder);
  close(ready[0]);
  close(ready[1]);
}
