// cubinet-compile-worker PARENT: compiles for the process PARENT, which started it with one end of a socket as its
// standard input (jit/worker_pool.hpp). Not for users.
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <thread>

#include "jit/compiler.hpp"
#include "jit/worker_pool.hpp"
#include "util/threads.hpp"

namespace {

// Called before NVRTC is opened: its front end does not touch ignored signals. All signals were blocked until now, so
// that an earlier signal does not end this process.
void ignore_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXFSZ, SIGPIPE}) signal(number, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Disables the driver's cache (~/.nv/ComputeCache). NVRTC 13 would initialize the driver, if there is one, and return
// kernels from that cache, without their registers and spills.
void disable_driver_cache() { setenv("CUDA_CACHE_DISABLE", "1", 1); }

// If memory runs out, the kernel shall end this process instead of the engine, which is larger.
void prefer_for_oom_kill() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  constexpr std::string_view score = "800";
  static_cast<void>(write(file, score.data(), score.size()) < 0);
  close(file);
}

// Ends this process when its parent ends, also during a compilation. PR_SET_PDEATHSIG is sent when the thread that
// started this process ends, which is too early.
void end_with(pid_t parent) {
  for (;;) {
    pollfd socket{STDIN_FILENO, POLLRDHUP, 0};
    const int ready = poll(&socket, 1, 1000);
    if (ready > 0 || getppid() != parent) _exit(EXIT_SUCCESS);
  }
}

}  // namespace

int main(int count, char** arguments) {
  ignore_signals();
  const pid_t parent = count == 2 ? static_cast<pid_t>(std::strtol(arguments[1], nullptr, 10)) : 0;
  if (parent <= 0) return EXIT_FAILURE;
  prefer_for_oom_kill();
  disable_driver_cache();
  mallopt(M_ARENA_MAX, 1);  // one thread allocates: a second arena would map another 64 MiB
  std::thread(end_with, parent).detach();
  cubinet::util::run_with_stack(cubinet::jit::compile_stack_bytes,
                                [] { cubinet::jit::serve_compilations(STDIN_FILENO); });
  _exit(EXIT_SUCCESS);
}
