// Several processes that warm one cabinet at once, some of which are killed or stopped in the middle of a compilation.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <random>
#include <thread>

#include "catch.hpp"
#include "jit/families/registry.hpp"
#include "unit/cache/support.hpp"
#include "warmup/campaign/runner.hpp"

namespace {

using namespace cubinet;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr int kernels = 12;

void take_time() { std::this_thread::sleep_for(20ms); }

template <class Condition>
bool wait_until(const Condition& holds) {
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  while (!holds() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(1ms);
  return holds();
}

// A fake compiler that runs `work` and leaves a file behind for each compilation that it begins.
class SlowCompiler : public jit::Compiler {
 public:
  SlowCompiler(fs::path begun, std::function<void()> work) : begun_(std::move(begun)), work_(std::move(work)) {}

  [[nodiscard]] std::string version() const override { return "13.0"; }

  Expected<jit::CompiledKernel> compile(const jit::KernelSpec& spec) override {
    const std::string key = jit::key_of(spec).hex();
    test::write_file(begun_ / util::unique_name(key + "."), "");
    work_();
    jit::CompiledKernel kernel;
    kernel.cubin = "cubin of " + spec.family_name() + " " + std::to_string(spec.n);
    return kernel;
  }

 private:
  fs::path begun_;
  std::function<void()> work_;
};

// A plan of the same kernels for every seed, in an order that the seed determines.
warmup::Plan plan_of(unsigned seed) {
  warmup::Plan plan;
  for (int i = 1; i <= kernels; ++i) {
    const Problem problem{.layout = Layout::masked, .n = 128 * i, .k = 64, .groups = 4};
    const auto spec = jit::families().select(problem, 64);
    plan.kernels.push_back({spec, {{problem, {{1, 64}}}}});
  }
  std::shuffle(plan.kernels.begin(), plan.kernels.end(), std::mt19937(seed));
  return plan;
}

// The results of a process that warms the plan.
struct ProcessResult {
  std::int64_t compiled = 0;
  std::int64_t hits = 0;
  std::int64_t shared = 0;
  std::int64_t undone = 0;  // failed, remaining, not stored
  double seconds = 0;
};

struct Options {
  unsigned seed = 0;
  std::function<void()> work = take_time;  // what a compilation runs
  std::chrono::milliseconds patience{60'000};
  int jobs = 1;
};

// A process that warms the plan.
class WarmupProcess {
 public:
  WarmupProcess(const fs::path& folder, const Options& options) {
    if (::pipe(ends_) != 0) throw std::runtime_error("no pipe");
    process_ = test::start_child([&] {
      auto cabinet = cache::Cabinet::open(folder / "root", true);
      SlowCompiler compiler(folder / "begun", options.work);
      if (!cabinet) return 1;
      const warmup::Sharing sharing{.patience = options.patience, .waits = {}};
      const auto report = warmup::warm(plan_of(options.seed), compiler, &*cabinet, options.jobs, {}, nullptr, sharing);
      const ProcessResult told{
          report.compiled, report.hits, report.shared,
          static_cast<std::int64_t>(report.remaining.size() + report.failed.size()) + report.compiled - report.stored,
          report.seconds};
      return ::write(ends_[1], &told, sizeof told) == sizeof told ? 0 : 2;
    });
    ::close(ends_[1]);
  }
  WarmupProcess(const WarmupProcess&) = delete;
  WarmupProcess& operator=(const WarmupProcess&) = delete;
  ~WarmupProcess() {
    end(SIGKILL);
    ::close(ends_[0]);
  }

  void send(int signal) const { ::kill(process_, signal); }

  void end(int signal) {
    if (process_ < 0) return;
    send(signal);
    send(SIGCONT);
    test::wait_for(std::exchange(process_, -1));
  }

  // Waits for its end. None: the process ended before it reported its results.
  std::optional<ProcessResult> finish() {
    ProcessResult told;
    const bool whole = ::read(ends_[0], &told, sizeof told) == sizeof told;
    const int status = test::wait_for(std::exchange(process_, -1));
    return whole && status == 0 ? std::optional(told) : std::nullopt;
  }

 private:
  int ends_[2] = {-1, -1};
  pid_t process_ = -1;
};

struct Place {
  Place() { fs::create_directory(folder / "begun"); }

  // How many compilations of each kernel were begun.
  [[nodiscard]] std::map<std::string, int> begun() const {
    std::map<std::string, int> counts;
    for (const auto& item : fs::directory_iterator(folder / "begun")) {
      ++counts[item.path().filename().string().substr(0, 64)];
    }
    return counts;
  }

  void wait_for_a_compilation() const {
    REQUIRE(wait_until([&] { return !begun().empty(); }));
  }

  // A compilation that lasts until `count` have begun. If `count` is above the number of threads of one process, a
  // second process is compiling then.
  [[nodiscard]] std::function<void()> until_begun(int count) const {
    return [this, count] {
      take_time();
      static_cast<void>(wait_until([&] { return begun().size() >= static_cast<std::size_t>(count); }));
    };
  }

  // Checks that every kernel is stored once and is sound.
  void is_complete() const {
    auto cabinet = cache::Cabinet::open(folder / "root", false);
    REQUIRE(cabinet);
    const auto report = cache::Maintenance(*cabinet).verify(false);
    REQUIRE(report);
    CHECK(report->checked == kernels);
    CHECK(report->damaged.empty());
  }

  test::TempFolder folder;
};

std::vector<std::unique_ptr<WarmupProcess>> start(const Place& place, unsigned count, Options options) {
  std::vector<std::unique_ptr<WarmupProcess>> warmers;
  for (unsigned i = 0; i < count; ++i) {
    options.seed = i;
    warmers.push_back(std::make_unique<WarmupProcess>(place.folder.path(), options));
  }
  return warmers;
}

// Waits for all processes, each of which must have done the whole plan. Returns the sums, and the longest time.
ProcessResult finish(const std::vector<std::unique_ptr<WarmupProcess>>& warmers) {
  ProcessResult sum;
  for (const auto& warmer : warmers) {
    const auto told = warmer->finish();
    REQUIRE(told);
    CHECK(told->compiled + told->hits == kernels);
    sum.compiled += told->compiled;
    sum.hits += told->hits;
    sum.shared += told->shared;
    sum.undone += told->undone;
    sum.seconds = std::max(sum.seconds, told->seconds);
  }
  return sum;
}

}  // namespace

TEST_CASE("processes that warm an empty root in different orders together compile each kernel once") {
  for (const int jobs : {1, 3}) {
    const Place place;
    const auto told = finish(start(place, 6, {.work = place.until_begun(jobs + 1), .jobs = jobs}));
    CHECK(told.compiled == kernels);
    CHECK(told.hits == 5 * kernels);
    CHECK(told.shared > 0);
    CHECK(told.undone == 0);
    for (const auto& [key, count] : place.begun()) CHECK(count == 1);
    place.is_complete();
  }
}

TEST_CASE("processes that warm in the same order share the work, and none waits until another has finished") {
  const Place place;
  std::vector<std::unique_ptr<WarmupProcess>> warmers;
  for (int i = 0; i < 4; ++i) {
    warmers.push_back(std::make_unique<WarmupProcess>(place.folder.path(), Options{.work = place.until_begun(2)}));
  }
  int workers = 0;
  std::int64_t compiled = 0;
  for (const auto& warmer : warmers) {
    const auto told = warmer->finish();
    REQUIRE(told);
    workers += told->compiled > 0 ? 1 : 0;
    compiled += told->compiled;
  }
  CHECK(compiled == kernels);
  CHECK(workers > 1);
}

TEST_CASE("if a process is killed during a compilation, the others continue at once") {
  const Place place;
  WarmupProcess victim(place.folder.path(),
                       {.seed = 100, .work = [] { std::this_thread::sleep_for(1000s); }, .jobs = 2});
  place.wait_for_a_compilation();
  const auto warmers = start(place, 4, {});
  std::this_thread::sleep_for(300ms);
  victim.end(SIGKILL);
  const auto told = finish(warmers);
  CHECK(told.compiled == kernels);
  CHECK(told.undone == 0);
  CHECK(told.seconds < 30);  // half of the patience
  place.is_complete();
}

TEST_CASE("if a process is stopped during a compilation, the others do its part when their patience ends") {
  const Place place;
  const fs::path go_on = place.folder / "go on";
  WarmupProcess victim(place.folder.path(), {.seed = 100, .work = [&] {
                                               static_cast<void>(wait_until([&] { return fs::exists(go_on); }));
                                             }});
  place.wait_for_a_compilation();
  victim.send(SIGSTOP);
  const std::string stuck = place.begun().begin()->first;
  const auto told = finish(start(place, 4, {.patience = 500ms}));
  CHECK(told.undone == 0);
  CHECK(told.seconds >= 0.5);
  CHECK(told.seconds < 20);
  for (const auto& [key, count] : place.begun()) {
    INFO(key);
    CHECK((count == 1 || key.substr(0, 2) == stuck.substr(0, 2)));  // keys with these digits share a lock file
  }
  place.is_complete();

  test::write_file(go_on, "");
  victim.send(SIGCONT);
  const auto late = victim.finish();
  REQUIRE(late);
  CHECK(late->compiled == 1);
  CHECK(late->hits == kernels - 1);
  CHECK(late->undone == 0);
  place.is_complete();
}

TEST_CASE("if every lock file is a folder, each process still does the whole plan") {
  const Place place;
  const cache::Layout layout{place.folder / "root"};
  REQUIRE(cache::Cabinet::open(layout.root, true));
  cache::Key key;
  for (int first = 0; first < 256; ++first) {
    key.bytes[0] = static_cast<std::uint8_t>(first);
    fs::create_directories(layout.claim(key) / "inside");
  }
  const auto told = finish(start(place, 4, {}));
  CHECK(told.compiled > kernels);  // without locks the work is not shared
  CHECK(told.undone == 0);
  place.is_complete();
}

TEST_CASE("sixteen processes that need one kernel at once compile it once") {
  const Place place;
  const auto spec = plan_of(0).kernels.front().spec;
  std::vector<pid_t> children;
  for (int i = 0; i < 16; ++i) {
    children.push_back(test::start_child([&] {
      auto cabinet = cache::Cabinet::open(place.folder / "root", true);
      SlowCompiler compiler(place.folder / "begun", [] { std::this_thread::sleep_for(200ms); });
      if (!cabinet) return 1;
      const auto provided = jit::provide(spec, compiler, &*cabinet, 60s);
      return provided && provided->store_problem.empty() ? 0 : 2;
    }));
  }
  for (const pid_t child : children) CHECK(test::wait_for(child) == 0);
  REQUIRE(place.begun().size() == 1);
  CHECK(place.begun().begin()->second == 1);
}
