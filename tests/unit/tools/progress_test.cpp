#include "tools/progress.hpp"

#include <atomic>
#include <functional>
#include <thread>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "unit/util/failing_memory.hpp"
#include "unit/util/faulty_calls.hpp"
#include "unit/util/temp_folder.hpp"

namespace {

using namespace cubinet;
using namespace cubinet::tools;
using namespace std::chrono_literals;

// A display without threads, with a clock that the test advances. Keeps the printed text.
class TestDisplay {
 public:
  explicit TestDisplay(ProgressStyle style, bool with_file = false)
      : display(style, with_file ? folder / "p" : std::filesystem::path(), environment()) {}

  // Advances the clock by `seconds`, with a tick every tenth of a second.
  void pass(double seconds) {
    for (int i = 0; i < static_cast<int>(seconds * 10 + 0.5); ++i) {
      now_ += 100ms;
      display.tick();
    }
  }
  // The text that was printed since the last call.
  std::string text() { return std::exchange(text_, {}); }
  [[nodiscard]] nlohmann::json object() const { return nlohmann::json::parse(test::contents(folder / "p")); }

  test::TempFolder folder;
  test::FaultyCalls calls;
  std::function<void()> while_waiting;  // called each time the display waits

 private:
  ProgressEnvironment environment() {
    return {.now = [this] { return now_; },
            .time_of_day = [this] { return 1e9 + std::chrono::duration<double>(now_ - begin_).count(); },
            .print = [this](std::string_view text) { text_ += text; },
            .pause =
                [this](std::chrono::milliseconds time) {
                  now_ += time;
                  if (while_waiting) while_waiting();
                },
            .calls = calls,
            .period = 0ms};
  }

  util::Moment begin_ = util::now();
  util::Moment now_ = begin_;
  std::string text_;

 public:
  ProgressDisplay display;
};

}  // namespace

TEST_CASE("Without a terminal there is a line at the beginning, one each five seconds and one at the end") {
  TestDisplay shown(ProgressStyle::lines);
  shown.display.begin(Phase::compiling, 4);
  CHECK(shown.text() == "compiling: 4 kernels\n");
  shown.display.finish(Finish::compiled);
  shown.pass(4.9);
  CHECK(shown.text().empty());
  shown.pass(0.1);
  CHECK(shown.text() == "compiling: 1/4 kernels, 0.2/s, 5.0 s elapsed, about 15.0 s left\n");
  shown.pass(4.9);
  CHECK(shown.text().empty());
  shown.display.finish(Finish::compiled);
  shown.pass(0.1);
  CHECK(shown.text() == "compiling: 2/4 kernels, 0.2/s, 10.0 s elapsed, about 10.0 s left\n");
  for (int i = 0; i < 2; ++i) shown.display.finish(Finish::hit);
  shown.display.end(ProgressState::done);
  CHECK(shown.text() == "compiling: 4/4 kernels, 0.2/s, 10.0 s elapsed\n");
}

TEST_CASE("Lines continue during a kernel that takes minutes, and name it") {
  TestDisplay shown(ProgressStyle::lines);
  shown.display.begin(Phase::compiling, 1);
  const ProgressDisplay::InWork work(shown.display, "slow one");
  shown.text();
  shown.pass(60);
  const std::string text = shown.text();
  CHECK(std::count(text.begin(), text.end(), '\n') == 12);
  CHECK(text.find("1 min 0 s elapsed; slow one for 1 min 0 s\n") != std::string::npos);
}

TEST_CASE("On a terminal the bar appears at once, is updated while no kernel finishes, and is erased at the end") {
  TestDisplay shown(ProgressStyle::bar);
  shown.display.begin(Phase::compiling, 2);
  CHECK(shown.text().find("\r\033[K[---") == 0);
  shown.pass(0.1);
  CHECK(shown.text().find("100 ms elapsed") != std::string::npos);
  shown.display.tick();
  CHECK(shown.text().empty());
  shown.display.end(ProgressState::done);
  CHECK(shown.text() == "\r\033[K");
  shown.display.end_phase();
  CHECK(shown.text().empty());
}

TEST_CASE("A quiet display prints nothing, but writes its file") {
  TestDisplay shown(ProgressStyle::none, true);
  shown.display.begin(Phase::compiling, 1);
  shown.pass(20);
  CHECK(shown.object().at("heartbeat") > 1e9 + 18);
  shown.display.end(ProgressState::done);
  CHECK(shown.text().empty());
}

TEST_CASE("The file exists when the phase begins, has a heartbeat each second, and shows changes in between") {
  TestDisplay shown(ProgressStyle::none, true);
  shown.display.begin(Phase::compiling, 3);
  CHECK(shown.object().at("state") == "compiling");
  CHECK(shown.object().at("total") == 3);
  double last = shown.object().at("heartbeat").get<double>();
  for (int second = 1; second <= 5; ++second) {
    shown.pass(1);
    const double heartbeat = shown.object().at("heartbeat").get<double>();
    CHECK(heartbeat > last);
    CHECK(heartbeat >= 1e9 + second - 1);
    last = heartbeat;
  }
  shown.display.finish(Finish::hit);
  shown.display.finish(Finish::failed);
  const ProgressDisplay::InWork work(shown.display, "the last");
  shown.pass(0.3);
  CHECK(shown.object().at("done") == 2);
  CHECK(shown.object().at("hits") == 1);
  CHECK(shown.object().at("failed") == 1);
  CHECK(shown.object().at("current") == "the last");
}

TEST_CASE("The file is written at most four times a second, however fast kernels are done") {
  TestDisplay shown(ProgressStyle::none, true);
  shown.display.begin(Phase::compiling, 1000);
  const int before = shown.calls.calls;
  for (int i = 0; i < 100; ++i) {
    shown.display.finish(Finish::hit);
    shown.pass(0.1);
  }
  CHECK(shown.calls.calls - before <= 4 * 10 * 4);  // open, write, close and rename
  CHECK(shown.calls.calls - before >= 3 * 10 * 4);
}

TEST_CASE("A second phase counts from 0, keeps the first one's compiled kernels and has its own name") {
  TestDisplay shown(ProgressStyle::lines, true);
  shown.display.begin(Phase::compiling, 2);
  for (int i = 0; i < 2; ++i) shown.display.finish(Finish::compiled);
  shown.pass(7);
  shown.text();
  shown.display.begin(Phase::executing, 5);
  CHECK(shown.text() == "compiling: 2/2 kernels, 0.3/s, 7.0 s elapsed\nexecuting: 5 kernels\n");
  CHECK(shown.object().at("state") == "executing");
  shown.display.finish(Finish::executed);
  shown.pass(5);
  CHECK(shown.text() == "executing: 1/5 kernels executed, 0.2/s, 5.0 s elapsed, about 20.0 s left\n");
  CHECK(shown.object().at("done") == 1);
  CHECK(shown.object().at("compiled") == 2);
}

TEST_CASE("The heartbeat continues between two phases") {
  TestDisplay shown(ProgressStyle::none, true);
  shown.display.begin(Phase::compiling, 1);
  shown.display.end_phase();
  shown.pass(10);
  CHECK(shown.object().at("heartbeat") > 1e9 + 8);
}

TEST_CASE("The final state and its message are written last") {
  for (const auto& [state, name] : {std::pair{ProgressState::done, "done"},
                                    {ProgressState::failed, "failed"},
                                    {ProgressState::interrupted, "interrupted"}}) {
    TestDisplay shown(ProgressStyle::none, true);
    shown.display.begin(Phase::compiling, 1);
    shown.display.end(state, "why");
    CHECK(shown.object().at("state") == name);
    CHECK(shown.object().at("message") == "why");
  }
}

TEST_CASE("An end before any phase is written, and so is the destruction of a display without an end") {
  TestDisplay shown(ProgressStyle::lines, true);
  shown.display.end(ProgressState::failed, "no compiler");
  CHECK(shown.object().at("message") == "no compiler");
  CHECK(shown.text().empty());
  const test::TempFolder folder;
  {
    ProgressDisplay display(ProgressStyle::none, folder / "p");
    display.begin(Phase::compiling, 1);
  }
  CHECK(nlohmann::json::parse(test::contents(folder / "p")).at("state") == "failed");
}

TEST_CASE("The threads of a display update screen and file while no kernel finishes") {
  const test::TempFolder folder;
  std::atomic<int> printed{0};
  ProgressEnvironment environment;
  environment.period = 1ms;
  environment.print = [&](std::string_view) { ++printed; };
  ProgressDisplay display(ProgressStyle::bar, folder / "p", std::move(environment));
  display.begin(Phase::compiling, 1);
  const auto heartbeat = [&] {
    return nlohmann::json::parse(test::contents(folder / "p")).at("heartbeat").get<double>();
  };
  const double first = heartbeat();
  for (int i = 0; i < 20'000 && (printed < 3 || heartbeat() == first); ++i) std::this_thread::sleep_for(1ms);
  CHECK(printed >= 3);
  CHECK(heartbeat() > first);
  display.end(ProgressState::done);
  const int at_end = printed;
  std::this_thread::sleep_for(20ms);
  CHECK(printed == at_end);
}

TEST_CASE("A blocked terminal delays neither the work nor the heartbeat") {
  const test::TempFolder folder;
  std::mutex stuck;
  ProgressEnvironment environment;
  environment.period = 1ms;
  std::atomic<int> printing{0};
  environment.print = [&](std::string_view) {
    if (++printing > 1) const std::lock_guard wait(stuck);
  };
  ProgressDisplay display(ProgressStyle::bar, folder / "p", std::move(environment));
  std::unique_lock hold(stuck);
  display.begin(Phase::compiling, 2);
  for (int i = 0; i < 20'000 && printing < 2; ++i) std::this_thread::sleep_for(1ms);
  REQUIRE(printing == 2);
  display.finish(Finish::compiled);
  const auto done = [&] { return nlohmann::json::parse(test::contents(folder / "p")).at("done"); };
  for (int i = 0; i < 20'000 && done() != 1; ++i) std::this_thread::sleep_for(1ms);
  CHECK(done() == 1);
  hold.unlock();
  display.end(ProgressState::done);
}

TEST_CASE("Running out of memory during an update stops neither the work nor the final state") {
  for (int left = 0; left < 60; ++left) {
    TestDisplay shown(ProgressStyle::lines, true);
    const ProgressDisplay::InWork work(shown.display, "a kernel whose name is too long to be kept without memory");
    {
      const test::FailingMemory memory(left);
      shown.display.begin(Phase::compiling, 1);
      shown.display.finish(Finish::compiled);
      shown.display.end_phase();
    }
    shown.display.end(ProgressState::done);
    INFO(left);
    CHECK(shown.object().at("state") == "done");
    CHECK(shown.object().at("done") == 1);
  }
}

TEST_CASE("If a first or final state cannot be written, the file with another state is removed") {
  for (const bool first : {true, false}) {
    for (int call = 0; call < 4; ++call) {  // open, write, close and rename
      INFO((first ? "first, call " : "last, call ") << call);
      TestDisplay shown(ProgressStyle::none, true);
      shown.display.begin(Phase::compiling, 1);
      REQUIRE(test::count_files(shown.folder.path()) == 1);
      shown.calls.fail_at = shown.calls.calls + call;
      if (first) {
        shown.display.begin(Phase::executing, 1);
      } else {
        shown.display.end(ProgressState::done);
      }
      CHECK(test::count_files(shown.folder.path()) == 0);
      if (!first) continue;
      shown.pass(1);
      CHECK(shown.object().at("state") == "executing");
    }
  }
}

TEST_CASE(
    "A heartbeat that cannot be written leaves the previous file, and a file that is no progress file is not removed") {
  TestDisplay shown(ProgressStyle::none, true);
  shown.display.begin(Phase::compiling, 1);
  shown.calls.fail_at = shown.calls.calls;
  shown.pass(0.8);
  CHECK(shown.object().at("heartbeat") == 1e9);
  shown.pass(1);
  CHECK(shown.object().at("heartbeat") > 1e9);
  std::filesystem::remove(shown.folder / "p");
  test::write_file(shown.folder / "precious", "precious");
  std::filesystem::create_symlink(shown.folder / "precious", shown.folder / "p");
  shown.display.end(ProgressState::done);
  CHECK(std::filesystem::is_symlink(shown.folder / "p"));
  CHECK(test::contents(shown.folder / "precious") == "precious");
}

TEST_CASE("A file in a folder behind a link is written and removed there") {
  const test::TempFolder folder;
  std::filesystem::create_directory(folder / "real");
  std::filesystem::create_directory_symlink(folder / "real", folder / "link");
  ProgressEnvironment environment;
  environment.time_of_day = [] { return 1e9; };
  ProgressFileWriter writer(folder / "link/p", environment);
  REQUIRE(writer.write({}, ProgressState::compiling, ""));
  CHECK(std::filesystem::exists(folder / "real/p"));
  writer.withdraw();
  CHECK_FALSE(std::filesystem::exists(folder / "real/p"));
}

TEST_CASE("The file shows which process this one waits for and for how long, until a kernel or the phase ends") {
  TestDisplay shown(ProgressStyle::lines, true);
  shown.display.begin(Phase::compiling, 3);
  CHECK(shown.display.wait(0));
  shown.pass(0.3);
  CHECK(shown.object().at("current") == "waiting for another process");
  CHECK(shown.display.wait(12));
  CHECK_FALSE(shown.display.wait(12));
  shown.pass(4.7);
  CHECK(shown.object().at("current") == "waiting for process 12");
  CHECK(shown.object().at("current_seconds") > 4);
  CHECK(shown.text().find("; waiting for process 12 for 5.0 s\n") != std::string::npos);
  {
    const ProgressDisplay::InWork work(shown.display, "another kernel");
    shown.pass(0.3);
    CHECK(shown.object().at("current") == "another kernel");
  }
  shown.display.finish(Finish::hit);
  shown.pass(1);
  CHECK(shown.object().at("current") == "");
  shown.display.wait(12);
  shown.pass(1);
  CHECK(shown.object().at("current") == "waiting for process 12");
  shown.display.end(ProgressState::interrupted);
  CHECK(shown.object().at("current") == "");
}

TEST_CASE("A plan without missing kernels is shown only in the file") {
  TestDisplay shown(ProgressStyle::lines, true);
  shown.display.found(7);
  shown.display.end(ProgressState::done);
  CHECK(shown.object().at("done") == 7);
  CHECK(shown.object().at("total") == 7);
  CHECK(shown.object().at("hits") == 7);
  CHECK(shown.object().at("rate").is_null());
  CHECK(shown.text().empty());
}

TEST_CASE("The heartbeat starts with the display, before the first phase") {
  const test::TempFolder folder;
  ProgressEnvironment environment;
  environment.period = 1ms;
  const ProgressDisplay display(ProgressStyle::none, folder / "p", std::move(environment));
  const auto heartbeat = [&] {
    return nlohmann::json::parse(test::contents(folder / "p")).at("heartbeat").get<double>();
  };
  const double first = heartbeat();
  for (int i = 0; i < 20'000 && heartbeat() == first; ++i) std::this_thread::sleep_for(1ms);
  CHECK(heartbeat() > first);
}

TEST_CASE("The rate does not change while the process only waits") {
  TestDisplay shown(ProgressStyle::lines, true);
  shown.display.begin(Phase::compiling, 4);
  for (const bool waits : {false, true, false}) {
    if (waits) {
      shown.display.wait(12);
      shown.pass(20);
      CHECK(shown.object().at("rate") == 1.0);
    }
    const ProgressDisplay::InWork work(shown.display, "gemm");
    shown.pass(1);
    shown.display.finish(Finish::compiled);
  }
  shown.display.wait(12);
  {
    const ProgressDisplay::InWork work(shown.display, "gemm");  // of another thread
    shown.pass(3);
  }
  shown.display.end(ProgressState::interrupted);
  CHECK(shown.object().at("rate") == 0.5);
  CHECK(shown.object().at("seconds") == 26.0);
  CHECK(shown.text().ends_with("compiling: 3/4 kernels, 0.5/s, 26.0 s elapsed\n"));
}

namespace {

// Writes the file as a run in another container, with the heartbeat 1e9 + `seconds`.
void write_as_other(const TestDisplay& shown, ProgressState state, double seconds) {
  const RunIdentity other{1, "4567", "node-2", "another boot pid:[1]"};
  test::write_file(shown.folder / "p", progress_object({}, state, "theirs", other, 1e9 + seconds));
}

}  // namespace

TEST_CASE("A file that another program has replaced meanwhile is not written any more") {
  TestDisplay shown(ProgressStyle::none, true);
  shown.display.begin(Phase::compiling, 4);
  test::write_file(shown.folder / "p", "precious");
  shown.pass(2);
  CHECK(test::contents(shown.folder / "p") == "precious");
  shown.display.end(ProgressState::failed);
  CHECK(test::contents(shown.folder / "p") == "precious");
}

TEST_CASE("A file that a living run in another container updates is never taken over") {
  TestDisplay shown(ProgressStyle::none, true);
  shown.display.begin(Phase::compiling, 4);
  for (int second = 0; second < 30; ++second) {
    write_as_other(shown, ProgressState::compiling, second);
    shown.pass(1);
    CHECK(shown.object().at("run") == "4567");
  }
  double heartbeat = 29;
  shown.while_waiting = [&] { write_as_other(shown, ProgressState::compiling, heartbeat += 0.1); };
  shown.display.end(ProgressState::done);
  CHECK(shown.object().at("run") == "4567");
  CHECK(heartbeat < 31);
}

TEST_CASE("A file whose run in another container was killed is taken over once its heartbeat is old") {
  TestDisplay shown(ProgressStyle::none, true);
  write_as_other(shown, ProgressState::compiling, 0);
  shown.display.begin(Phase::compiling, 4);
  shown.pass(9);
  CHECK(shown.object().at("run") == "4567");
  shown.pass(2);
  CHECK(shown.object().at("run") == this_run().run);
  CHECK(shown.object().at("state") == "compiling");
}

TEST_CASE("A file whose run in another container has ended is taken over by the run that continues") {
  TestDisplay shown(ProgressStyle::none, true);
  write_as_other(shown, ProgressState::compiling, 0);
  shown.display.begin(Phase::compiling, 4);
  shown.pass(1);
  write_as_other(shown, ProgressState::done, 1);
  shown.pass(1);
  CHECK(shown.object().at("run") == this_run().run);
}

TEST_CASE("The final state waits for a heartbeat of a run that may have been killed, and is written without one") {
  TestDisplay shown(ProgressStyle::none, true);
  write_as_other(shown, ProgressState::compiling, 0);
  shown.display.begin(Phase::compiling, 4);
  shown.display.end(ProgressState::failed, "no room");
  CHECK(shown.object().at("run") == this_run().run);
  CHECK(shown.object().at("state") == "failed");
  CHECK(shown.object().at("message") == "no room");
}
