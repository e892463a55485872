#include "util/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

namespace cubinet::util {
namespace {

constexpr std::size_t most_output = 16U << 10;

// Moves a descriptor above the three standard ones, which the actions below overwrite: this process may have closed its
// own.
File above_standard(int file) {
  File first(file, system_calls());
  if (file < 0 || file > STDERR_FILENO) return first;
  return {fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), system_calls()};
}

struct Pair {
  File own;
  File other;
  explicit operator bool() const { return own && other; }
};

Pair make_socket() {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return {};
  return {above_standard(ends[0]), above_standard(ends[1])};
}

Pair make_pipe() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  Pair pair{above_standard(ends[0]), above_standard(ends[1])};
  fcntl(pair.own.get(), F_SETFL, O_NONBLOCK);
  return pair;
}

// The descriptors, signals and session of the child, as posix_spawn takes them.
class Setting {
 public:
  Setting(int input, int output) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes_);
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &all);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  }
  ~Setting() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

  int spawn(const std::string& program, const std::vector<std::string>& arguments, pid_t& process) const {
    std::vector<char*> words{const_cast<char*>(program.c_str())};
    for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    return posix_spawn(&process, program.c_str(), &actions_, &attributes_, words.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

int open_handle(pid_t process) { return static_cast<int>(syscall(SYS_pidfd_open, process, 0)); }

// A child that does not read must not block this process.
void limit_sending(int socket) {
  const timeval patience{30, 0};
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

}  // namespace

Expected<std::unique_ptr<ChildProcess>> ChildProcess::start(const std::string& program,
                                                            const std::vector<std::string>& arguments) {
  Pair socket = make_socket();
  Pair output = socket ? make_pipe() : Pair();
  if (!output) return fail(ErrorCode::io, system_message("start", program, errno));
  std::unique_ptr<ChildProcess> child(new ChildProcess);
  const Setting setting(socket.other.get(), output.other.get());
  if (const int error = setting.spawn(program, arguments, child->process_); error != 0)
    return fail(ErrorCode::io, system_message("start", program, error));
  child->owner_ = getpid();
  child->handle_ = File(open_handle(child->process_), system_calls());
  child->socket_ = std::move(socket.own);
  child->output_ = std::move(output.own);
  limit_sending(child->socket_.get());
  return child;
}

ChildProcess::~ChildProcess() { end(); }

Received ChildProcess::ask(std::string_view message, std::string& answer, std::chrono::milliseconds patience) {
  if (!send_message(socket_.get(), message)) return Received::ended;
  return receive(answer, patience);
}

Received ChildProcess::receive(std::string& message, std::chrono::milliseconds patience) {
  const auto deadline = now() + patience;
  const Received waited = wait_for_message(deadline);
  return waited == Received::message ? receive_message(socket_.get(), message, deadline) : waited;
}

// Waits for the beginning of a message. The pidfd reports the child's end if the socket does not: a fork of another
// thread during the start may have left the other end open in a third process.
Received ChildProcess::wait_for_message(Moment deadline) {
  int output = output_.get();
  for (;;) {
    pollfd files[] = {{socket_.get(), POLLIN, 0}, {output, POLLIN, 0}, {handle_.get(), POLLIN, 0}};
    const int patience = poll_patience(deadline);
    const bool ready = poll(files, std::size(files), patience) > 0;
    if (ready && files[1].revents != 0 && !read_output()) output = -1;
    if (ready && files[0].revents != 0) return Received::message;
    if (ready && files[2].revents != 0) return Received::ended;
    if (!ready && patience == 0) return Received::late;
  }
}

bool ChildProcess::is_alive() const {
  pollfd files[] = {{socket_.get(), POLLRDHUP, 0}, {handle_.get(), POLLIN, 0}};
  return poll(files, std::size(files), 0) == 0;
}

bool ChildProcess::is_own() const { return owner_ == getpid(); }

// Returns whether more output may follow.
bool ChildProcess::read_output() {
  char bytes[4096];
  const ssize_t count = read(output_.get(), bytes, sizeof bytes);
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  collected_.append(bytes, static_cast<std::size_t>(count));
  if (collected_.size() > most_output) collected_.erase(0, collected_.size() - most_output);
  return count > 0;
}

std::string ChildProcess::take_output() {
  pollfd file{output_.get(), POLLIN, 0};
  while (output_ && poll(&file, 1, 0) > 0 && read_output()) {
  }
  return std::exchange(collected_, {});
}

// The child ends by itself, with exit code 0, when the socket is closed, so that a process that waits for all its
// children sees no signal. If it does not, it is killed.
ChildProcess::End ChildProcess::end() {
  if (socket_) socket_.close();
  if (process_ < 0 || !is_own()) return {};
  constexpr auto patience = std::chrono::seconds(2);
  if (handle_ && !wait_until_readable(handle_.get(), now() + patience)) {
    syscall(SYS_pidfd_send_signal, handle_.get(), SIGKILL, nullptr, 0);
  }
  return reap();
}

// Uses the pidfd: if this process has waited for all its children, the process id may belong to another child by now.
ChildProcess::End ChildProcess::reap() {
  constexpr auto by_handle = static_cast<idtype_t>(3);  // P_PIDFD
  siginfo_t info{};
  int waited = 0;
  do {
    waited = handle_ ? waitid(by_handle, static_cast<id_t>(handle_.get()), &info, WEXITED)
                     : waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED);
  } while (waited != 0 && errno == EINTR);
  process_ = -1;
  if (waited != 0) return {0, 0, false};
  if (info.si_code == CLD_EXITED) return {0, info.si_status, true};
  return {info.si_status, 0, true};
}

std::string end_text(const ChildProcess::End& end) {
  if (!end.known) return "ended";
  if (end.signal == 0) return "ended with exit code " + std::to_string(end.exit_code);
  const char* name = sigabbrev_np(end.signal);
  return name != nullptr ? std::string("was ended by SIG") + name : "was ended by signal " + std::to_string(end.signal);
}

}  // namespace cubinet::util
