// Tests of SIGINT, SIGTERM and SIGHUP at any moment of a warmup with the real NVRTC, and of the end of its workers.
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "command.hpp"
#include "soft_limit.hpp"

namespace {

using namespace cubinet::cli;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

// Four kernels, compiled one after the other. Each takes longer than the delay of the progress file.
const Arguments several{"warmup",   "--shape",         "128,128,2", "256,128,2",   "384,128,2", "512,128,2",
                        "--layout", "contiguous",      "--m-max",   "8",           "--jobs",    "1",
                        "--json",   "--progress-file", "progress",  "--no-generic"};

template <class Condition>
void wait_until(const Condition& holds) {
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (!holds()) {
    REQUIRE(std::chrono::steady_clock::now() < deadline);
    std::this_thread::sleep_for(1ms);
  }
}

// Waits until the forked child `process` has executed the command.
void wait_for_command(pid_t process) {
  const fs::path link = "/proc/" + std::to_string(process) + "/exe";
  wait_until([&] {
    std::error_code trouble;
    return fs::read_symlink(link, trouble).filename() == fs::path(CUBINET_COMMAND).filename();
  });
}

// Whether `process` blocks the signal, which its signal thread waits for: SigBlk of /proc/PID/status.
bool blocks(pid_t process, int signal) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("SigBlk:", 0) == 0) return (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1) != 0;
  }
  return false;
}

// The compile workers of `process`.
std::vector<pid_t> workers_of(pid_t process) {
  std::vector<pid_t> workers;
  std::error_code ended;
  for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(process) + "/task", ended)) {
    std::ifstream children(task.path() / "children");
    for (pid_t child = 0; children >> child;) workers.push_back(child);
  }
  return workers;
}

// Waits until the progress file shows the first finished kernel. The next compilation has started then, and takes long.
void wait_for_first_kernel(const Sandbox& sandbox) {
  REQUIRE(await_progress(sandbox, "progress", [](const auto& object) { return object.at("done") >= 1; }));
}

}  // namespace

TEST_CASE("An interrupted warmup finishes running compilations, reports the rest, and a second run completes it") {
  const Sandbox sandbox;
  const pid_t process = sandbox.start(several);
  wait_for_first_kernel(sandbox);
  REQUIRE(kill(process, SIGTERM) == 0);
  const Outcome outcome = sandbox.finish(process);
  CHECK(outcome.exit_code == 1);
  const auto report = object_of(outcome);
  const int compiled = report.at("compiled").get<int>();
  CHECK(compiled >= 1);
  CHECK(compiled < 4);
  CHECK(report.at("remaining") == 4 - compiled);
  CHECK(report.at("failed") == 0);
  CHECK(report.at("coverage") == "none");
  const auto progress = progress_of(sandbox, "progress");
  CHECK(progress.at("state") == "interrupted");
  CHECK(progress.at("done") == compiled);
  CHECK_FALSE(progress.at("message").get<std::string>().empty());

  const auto second = object_of(sandbox.run(several));
  CHECK(second.at("coverage") == "recorded");
  CHECK(second.at("hits") == compiled);
  CHECK(second.at("compiled") == 4 - compiled);
  CHECK(second.at("remaining") == 0);
}

TEST_CASE("In an interrupted warmup with --execute only stored kernels count as compiled") {
  const Sandbox sandbox;
  Arguments executing = several;
  executing.push_back("--execute");
  const pid_t process = sandbox.start(executing);
  wait_for_first_kernel(sandbox);
  REQUIRE(kill(process, SIGTERM) == 0);
  const auto report = object_of(sandbox.finish(process));
  int compiled = 0;
  for (const auto& kernel : report.at("not_executed"))
    compiled += kernel.at("state") == "compiled, not executed" ? 1 : 0;
  CHECK(report.at("not_executed").size() == 4);
  CHECK(compiled == report.at("compiled"));
  CHECK(report.at("remaining") == 4 - compiled);
}

TEST_CASE("A signal at any moment, also while NVRTC is being loaded, leads to a report of what remains") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    for (const auto delay : {0ms, 50ms, 200ms, 400ms}) {
      const Sandbox sandbox;
      const auto begin = std::chrono::steady_clock::now();
      const pid_t process = sandbox.start(several);
      wait_for_command(process);
      wait_until([&] { return blocks(process, signal); });
      std::this_thread::sleep_for(delay);
      REQUIRE(kill(process, signal) == 0);
      const bool early = std::chrono::steady_clock::now() - begin < 200ms;  // too early for four kernels
      const Outcome outcome = sandbox.finish(process);
      INFO("signal " << signal << " after " << delay.count() << " ms: " << outcome.err);
      CHECK(outcome.signal == 0);
      const auto report = object_of(outcome);
      CHECK(report.at("compiled").get<int>() + report.at("remaining").get<int>() == 4);
      CHECK(outcome.exit_code == (report.at("remaining") == 0 ? 0 : 1));
      if (early) CHECK(report.at("remaining") > 0);
    }
  }
}

TEST_CASE("Ctrl-C in a terminal, which signals all its processes, lets the running compilations finish") {
  const Sandbox sandbox;
  const pid_t process = sandbox.start(several);
  wait_for_first_kernel(sandbox);
  for (const pid_t worker : workers_of(process)) CHECK(kill(worker, SIGINT) == 0);
  REQUIRE(kill(process, SIGINT) == 0);
  const auto report = object_of(sandbox.finish(process));
  CHECK(report.at("failed") == 0);
  CHECK(report.at("compiled").get<int>() + report.at("remaining").get<int>() == 4);
}

TEST_CASE("A worker that is killed during a compilation fails one kernel, and the others are compiled") {
  const Sandbox sandbox;
  const pid_t process = sandbox.start(several);
  wait_for_first_kernel(sandbox);
  const auto workers = workers_of(process);
  REQUIRE(workers.size() == 1);
  REQUIRE(kill(workers.front(), SIGKILL) == 0);
  const Outcome outcome = sandbox.finish(process);
  CHECK(outcome.exit_code == 1);
  const auto report = object_of(outcome);
  CHECK(report.at("failed") == 1);
  CHECK(report.at("compiled") == 3);
  const std::string message = report.at("failures").front().at("message");
  CHECK(message.find("libnvrtc") != std::string::npos);
  CHECK(message.find("SIGKILL") != std::string::npos);
}

TEST_CASE("The workers of a command that is killed end with it") {
  const Sandbox sandbox;
  const pid_t process = sandbox.start(several);
  wait_for_first_kernel(sandbox);
  const auto workers = workers_of(process);
  REQUIRE_FALSE(workers.empty());
  REQUIRE(kill(process, SIGKILL) == 0);
  CHECK(sandbox.finish(process).signal == SIGKILL);
  for (const pid_t worker : workers) {
    const std::string stat = "/proc/" + std::to_string(worker) + "/stat";
    // Its new parent may leave it a zombie.
    wait_until([&] {
      const std::string text = cubinet::test::contents(stat);
      return text.empty() || text.find(" Z ") != std::string::npos;
    });
  }
}

TEST_CASE("A second signal ends the command at once, as that signal does by default") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    for (const bool while_loading : {true, false}) {
      const Sandbox sandbox;
      const pid_t process = sandbox.start(several);
      wait_for_command(process);
      if (while_loading) {
        std::this_thread::sleep_for(10ms);
      } else {
        wait_for_first_kernel(sandbox);
      }
      // Repeats the signal: on a busy machine two pending signals can merge into one, and while the command is loading
      // the first one alone can end it within milliseconds.
      for (int i = 0; i < 400; ++i) {
        REQUIRE(kill(process, signal) == 0);
        std::this_thread::sleep_for(200us);
      }
      const Outcome outcome = sandbox.finish(process);
      INFO("signal " << signal << (while_loading ? " while loading: " : ": ") << outcome.out << outcome.err);
      CHECK(outcome.signal == signal);
      CHECK(outcome.out.empty());
      if (!while_loading) CHECK(progress_of(sandbox, "progress").at("state") == "compiling");
    }
  }
}

TEST_CASE("A signal that the command was started to ignore stays ignored") {
  Sandbox sandbox;
  sandbox.ignores_interrupt = true;
  const pid_t process = sandbox.start(several);
  wait_for_command(process);
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(100ms);
    REQUIRE(kill(process, SIGINT) == 0);
  }
  const Outcome outcome = sandbox.finish(process);
  CHECK(outcome.exit_code == 0);
  CHECK(object_of(outcome).at("compiled") == 4);
}

TEST_CASE("One signal ends doctor at once, also while it compiles its probe") {
  const Sandbox sandbox;
  const pid_t process = sandbox.start({"doctor"});
  wait_until([&] { return !workers_of(process).empty(); });  // the compilation of the probe follows
  REQUIRE(kill(process, SIGINT) == 0);
  CHECK(sandbox.finish(process).signal == SIGINT);
}

TEST_CASE("A file beyond the process's size limit is a kernel that cannot be stored, and stops the warmup") {
  const Sandbox sandbox;
  const SoftLimit limit(RLIMIT_FSIZE, 8192);
  const Outcome outcome = sandbox.run(several);
  INFO(outcome.err);
  CHECK(outcome.signal == 0);
  CHECK(outcome.exit_code == 1);
  const auto report = object_of(outcome);
  CHECK(report.at("compiled") == 1);
  CHECK(report.at("stored") == 0);
  CHECK(report.at("remaining") == 3);
  CHECK(report.at("persist") == "off");
  CHECK(report.at("persist_problem").get<std::string>().find("too large") != std::string::npos);
  CHECK(outcome.err.find("make room") != std::string::npos);
  const auto progress = progress_of(sandbox, "progress");
  CHECK(progress.at("state") == "failed");
  CHECK(progress.at("message").get<std::string>().find("3 kernels not begun: ") == 0);
  CHECK(progress.at("message").get<std::string>().find("too large") != std::string::npos);
}

TEST_CASE("If no kernel can be stored, nothing is compiled to be executed") {
  const Sandbox sandbox;
  const SoftLimit limit(RLIMIT_FSIZE, 8192);
  Arguments executing = several;
  executing.push_back("--execute");
  const auto report = object_of(sandbox.run(executing));
  CHECK(report.at("compiled") == 1);
  CHECK(report.at("not_executed").size() == 4);
  int compiled = 0;  // the kernel that exceeded the limit
  for (const auto& kernel : report.at("not_executed")) {
    compiled += kernel.at("state") == "compiled, not executed" ? 1 : 0;
    CHECK(kernel.at("reason").get<std::string>().find("too large") != std::string::npos);
  }
  CHECK(compiled == 1);
}
