// A program that runs beside this one and answers messages.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "util/expected.hpp"
#include "util/files.hpp"
#include "util/message_stream.hpp"

namespace cubinet::util {

// Its standard input is one end of a socket, and what it writes to standard output and standard error is collected. It
// is in a session of its own, so that a terminal's signals do not reach it, with every signal blocked, and has no other
// descriptor of this process. Ends with the object, and leaves no zombie; the process that started it may wait for its
// children and ignore SIGCHLD as it likes. A child made by fork only closes what it inherited. For one thread at a
// time.
class ChildProcess {
 public:
  // Runs the file `program`. The error says why it cannot be started.
  static Expected<std::unique_ptr<ChildProcess>> start(const std::string& program,
                                                       const std::vector<std::string>& arguments);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Sends a message and waits for the answer. See receive_message.
  Received ask(std::string_view message, std::string& answer, std::chrono::milliseconds patience);
  // Waits for a message that nobody asked for.
  Received receive(std::string& message, std::chrono::milliseconds patience);

  // Whether it still runs, as far as can be told without waiting.
  [[nodiscard]] bool is_alive() const;
  // Whether this process started it, and did not inherit it by fork.
  [[nodiscard]] bool is_own() const;

  // What it has written since the last call: the last 16 KiB of it.
  std::string take_output();

  struct End {
    int signal = 0;     // that ended it
    int exit_code = 0;  // where no signal did
    bool known = true;  // false where somebody else in this process waited for it
  };
  // Ends it, if it has not ended by itself, and says how it did.
  End end();

 private:
  ChildProcess() = default;
  Received wait_for_message(std::chrono::steady_clock::time_point deadline);
  bool read_output();
  End reap();

  File socket_;
  File output_;
  File handle_;  // pidfd; none before Linux 5.3
  pid_t process_ = -1;
  pid_t owner_ = -1;
  std::string collected_;
};

// "was ended by SIGSEGV", "ended with exit code 4", "ended".
std::string end_text(const ChildProcess::End& end);

}  // namespace cubinet::util
