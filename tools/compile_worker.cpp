// cubinet-compile-worker PARENT: compiles for the process PARENT, which started it with its end of a socket as standard
// input (jit/worker_pool.hpp). Nobody else has a use for it.
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <thread>

#include "jit/compile_worker.hpp"
#include "jit/compiler.hpp"
#include "util/threads.hpp"

namespace {

// Before NVRTC is opened: its front end leaves alone what is ignored. Everything was blocked until now, so that a
// signal that came before this ends nothing.
void settle_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXFSZ, SIGPIPE}) signal(number, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Where there is a driver, NVRTC 13 initializes it, and answers from the driver's cache (~/.nv/ComputeCache) what was
// compiled before. Nothing is then known of registers and spills, and a second cache would decide what a cabinet holds.
void keep_from_driver() { setenv("CUDA_CACHE_DISABLE", "1", 1); }

// Where memory runs out the kernel is to end this process, and not the engine, which is larger.
void go_first() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  constexpr std::string_view score = "800";
  static_cast<void>(write(file, score.data(), score.size()) < 0);
  close(file);
}

// Ends the process with its parent, also in the middle of a compilation. PR_SET_PDEATHSIG would come when the thread
// ends that started this process.
void follow(pid_t parent) {
  for (;;) {
    pollfd socket{STDIN_FILENO, POLLRDHUP, 0};
    const int ready = poll(&socket, 1, 1000);
    if (ready > 0 || getppid() != parent) _exit(EXIT_SUCCESS);
  }
}

}  // namespace

int main(int count, char** arguments) {
  settle_signals();
  const pid_t parent = count == 2 ? static_cast<pid_t>(std::strtol(arguments[1], nullptr, 10)) : 0;
  if (parent <= 0) return EXIT_FAILURE;
  go_first();
  keep_from_driver();
  mallopt(M_ARENA_MAX, 1);  // one thread works: another one's arena would only map 64 MiB more
  std::thread(follow, parent).detach();
  cubinet::util::run_with_stack(cubinet::jit::compile_stack_bytes,
                                [] { cubinet::jit::serve_compilations(STDIN_FILENO); });
  _exit(EXIT_SUCCESS);
}
