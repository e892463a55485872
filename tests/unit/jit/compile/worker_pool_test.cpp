#include "jit/worker_pool.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <set>

#include "unit/jit/compile/worker_world.hpp"
#include "unit/util/temp_folder.hpp"
#include "util/threads.hpp"

using namespace cubinet;
using namespace cubinet::test;

namespace {

void check_names(const Error& error, const std::string& words) {
  INFO(error.message);
  CHECK(error.message.find(fake_nvrtc()) != std::string::npos);
  CHECK(error.message.find(words) != std::string::npos);
}

void check_compiles(jit::WorkerPool& pool) {
  const auto next = run(pool, "");
  REQUIRE(next);
  CHECK(next->bytes.substr(0, 5) == "cubin");
}

}  // namespace

// Sanitizers handle these signals and end the process with an exit code.
#ifndef CUBINET_ADDRESS_SANITIZER
TEST_CASE("A crash during a compilation is an error with file and signal, and the next kernel compiles") {
  const auto pool = fake_pool();
  for (const auto& [words, signal] : {std::pair{"#segfault", "SIGSEGV"}, {"#abort", "SIGABRT"}}) {
    const auto crashed = run(*pool, words);
    REQUIRE_FALSE(crashed);
    CHECK(crashed.error().code == ErrorCode::compile_failed);
    check_names(crashed.error(), std::string("compiled in a process that was ended by ") + signal);
    check_compiles(*pool);
  }
}

TEST_CASE("A crash while a library is opened is an error with file and signal, and the next one can be opened") {
  auto pool = jit::WorkerPool::start(jit::shipped_worker());
  REQUIRE(pool);
  const auto crashed = (*pool)->open(crashing_nvrtc());
  REQUIRE_FALSE(crashed);
  CHECK(crashed.error().code == ErrorCode::compiler_missing);
  CHECK(crashed.error().message.find(crashing_nvrtc()) != std::string::npos);
  CHECK(crashed.error().message.find("was ended by SIGBUS") != std::string::npos);
  CHECK((*pool)->open(fake_nvrtc())->version == "13.77");
}
#endif

TEST_CASE("An exit during a compilation is an error with the exit code, and the next kernel compiles") {
  const auto pool = fake_pool();
  const auto ended = run(*pool, "#exit");
  REQUIRE_FALSE(ended);
  check_names(ended.error(), "ended with exit code 4");
  check_compiles(*pool);
}

TEST_CASE("An abort because of too little memory is out_of_memory, with the library's output in the detail") {
  const auto pool = fake_pool();
  const auto aborted = run(*pool, "#memory");
  REQUIRE_FALSE(aborted);
  CHECK(aborted.error().code == ErrorCode::out_of_memory);
  CHECK(aborted.error().detail.find("LLVM ERROR: out of memory") != std::string::npos);
}

TEST_CASE("A compilation that hangs is ended after the time limit, and the next kernel compiles") {
  const auto pool = fake_pool({.compile = std::chrono::milliseconds(1000)});
  const auto late = run(*pool, "#hang");
  REQUIRE_FALSE(late);
  check_names(late.error(), "did not answer for 1 s");
  check_compiles(*pool);
  CHECK(children().size() == 1);
}

TEST_CASE("A compilation that hangs is ended even if signals interrupt the wait repeatedly") {
  struct sigaction interrupt {};
  struct sigaction before {};
  interrupt.sa_handler = [](int) {};
  sigaction(SIGALRM, &interrupt, &before);
  const auto pool = fake_pool({.compile = std::chrono::milliseconds(100)});
  const itimerval often{{0, 50'000}, {0, 50'000}};
  const itimerval never{};
  setitimer(ITIMER_REAL, &often, nullptr);
  const auto late = run(*pool, "#hang");
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  REQUIRE_FALSE(late);
  check_compiles(*pool);
}

TEST_CASE("A library's output is in the log, and in the detail of an error") {
  const auto pool = fake_pool();
  const auto printed = run(*pool, "#print");
  REQUIRE(printed);
  for (const char* words : {"LLVM says", "on both streams"}) CHECK(printed->log.find(words) != std::string::npos);
  const auto failed = run(*pool, "#print #error");
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == ErrorCode::out_of_memory);  // a log that names no error counts as out of memory
  CHECK(failed.error().detail.find("LLVM says") != std::string::npos);
  CHECK(run(*pool, "")->log.empty());
}

TEST_CASE("Signal handlers that a library installs do not affect this process") {
  const auto pool = fake_pool();
  struct sigaction before {
  }, after{};
  sigaction(SIGTERM, nullptr, &before);
  CHECK(run(*pool, "#handlers"));
  sigaction(SIGTERM, nullptr, &after);
  CHECK(before.sa_handler == after.sa_handler);
}

TEST_CASE("A worker ignores terminating signals and has a large enough stack, whatever the limits of this process") {
  rlimit before{};
  getrlimit(RLIMIT_STACK, &before);
  const rlimit small{std::size_t{1} << 20, before.rlim_max};
  setrlimit(RLIMIT_STACK, &small);
  const auto pool = fake_pool();
  CHECK(run(*pool, "#ignored")->log == "ignored");
  CHECK(run(*pool, "#stack"));
  setrlimit(RLIMIT_STACK, &before);
}

TEST_CASE("A worker does not use the driver's compile cache") {
  const auto pool = fake_pool();
  const auto answer = run(*pool, "#driver cache");
  REQUIRE(answer);
  CHECK(answer->log == "off");
}

TEST_CASE("Killing a worker during a compilation is an error, and the next kernel compiles") {
  const auto pool = fake_pool();
  const pid_t worker = std::stoi(run(*pool, "#process")->log);
  std::jthread killer([worker] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    kill(worker, SIGKILL);
  });
  const auto killed = run(*pool, "#hang");
  REQUIRE_FALSE(killed);
  CHECK(killed.error().code == ErrorCode::out_of_memory);
  check_names(killed.error(), "SIGKILL");
  check_compiles(*pool);
}

TEST_CASE("A worker that is killed while idle causes no error") {
  const auto pool = fake_pool();
  const pid_t worker = std::stoi(run(*pool, "#process")->log);
  REQUIRE(kill(worker, SIGKILL) == 0);
  siginfo_t ended{};
  REQUIRE(waitid(P_PID, static_cast<id_t>(worker), &ended, WEXITED | WNOWAIT) == 0);
  check_compiles(*pool);
  CHECK(children().size() == 1);
}

TEST_CASE("Sixteen compilations on two threads use two workers") {
  const auto pool = fake_pool();
  std::array<std::string, 16> logs;
  util::parallel_for(logs.size(), 2, [&](std::size_t i) { logs[i] = run(*pool, "#process #sleep")->log; });
  CHECK(std::set<std::string>(logs.begin(), logs.end()).size() == 2);
  CHECK(children().size() == 2);
}

TEST_CASE("Idle workers can be ended without zombies, and the next compilation starts a new one") {
  const auto pool = fake_pool();
  check_compiles(*pool);
  CHECK(children().size() == 1);
  pool->end_idle();
  CHECK(children().empty());
  check_compiles(*pool);
  CHECK(children().size() == 1);
}

TEST_CASE("A busy worker ends after its answer when all workers are ended") {
  const auto pool = fake_pool();
  std::atomic<bool> compiled{false};
  std::jthread busy([&] { compiled = run(*pool, "#sleep").has_value(); });
  REQUIRE(comes_true([&] { return children().size() == 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  pool->end_idle();
  busy.join();
  CHECK(compiled);
  CHECK(children().empty());
}

TEST_CASE("The memory of workers is reported") {
  const auto pool = fake_pool();
  CHECK(pool->peak_bytes() > 1 << 20);
}

TEST_CASE("Workers work in a process that ignores SIGCHLD or waits for all its children") {
  const auto before = signal(SIGCHLD, SIG_IGN);
  {
    const auto pool = fake_pool();
    CHECK_FALSE(run(*pool, "#exit"));
    check_compiles(*pool);
  }
  signal(SIGCHLD, [](int) {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  });
  {
    const auto pool = fake_pool();
    const auto ended = run(*pool, "#exit");
    REQUIRE_FALSE(ended);
    check_names(ended.error(), "in a process that ended");
    check_compiles(*pool);
  }
  signal(SIGCHLD, before);
  CHECK(children().empty());
}

TEST_CASE("A child made by fork starts its own workers, and its end does not affect the parent's") {
  const auto pool = fake_pool();
  const std::string own = run(*pool, "#process")->log;
  const pid_t child = fork();
  if (child == 0) {
    const auto compiled = run(*pool, "#process");
    _exit(compiled && compiled->log != own ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(run(*pool, "#process")->log == own);
}

TEST_CASE("The end of a worker is detected even if another process has its socket open") {
  const auto pool = fake_pool();
  const pid_t worker = std::stoi(run(*pool, "#process")->log);
  // Another process would have this descriptor after a fork between socketpair() and posix_spawn().
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, worker, 0));
  const int end = static_cast<int>(syscall(SYS_pidfd_getfd, handle, STDIN_FILENO, 0));
  if (end < 0) CUBINET_SKIP("no descriptor of another process can be had here");
  const auto ended = run(*pool, "#exit");
  REQUIRE_FALSE(ended);
  check_names(ended.error(), "ended with exit code 4");
  close(end);
  close(handle);
}

TEST_CASE("A worker ends with the process that started it, even during a compilation") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t parent = fork();
  if (parent == 0) {
    const auto pool = fake_pool();
    const std::string worker = run(*pool, "#process")->log;
    if (write(ends[1], worker.c_str(), worker.size() + 1) < 0) _exit(1);
    static_cast<void>(run(*pool, "#hang"));
    _exit(1);
  }
  std::array<char, 16> text{};
  REQUIRE(read(ends[0], text.data(), text.size()) > 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const pid_t worker = std::stoi(text.data());
  REQUIRE(kill(worker, 0) == 0);
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  // Its new parent may leave it a zombie.
  CHECK(comes_true([&] {
    const std::string stat = contents("/proc/" + std::to_string(worker) + "/stat");
    return stat.empty() || stat.find(" Z ") != std::string::npos;
  }));
  close(ends[0]);
  close(ends[1]);
}

TEST_CASE("A program that is not a worker, or does not exist, is an error that names it") {
  for (const char* program : {"/bin/true", "/bin/cat", "/nowhere/worker", "/etc/passwd"}) {
    const auto pool = jit::WorkerPool::start(program, {.start = std::chrono::milliseconds(500)});
    REQUIRE_FALSE(pool);
    CHECK(pool.error().message.find(program) != std::string::npos);
  }
  CHECK(children().empty());
}
