// A child process that answers messages.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "util/clock.hpp"
#include "util/expected.hpp"
#include "util/files.hpp"
#include "util/message_stream.hpp"

namespace cubinet::util {

// Standard input of the child is one end of a socket; its standard output and standard error are collected. It starts
// in its own session, so that a terminal's signals do not reach it, with all signals blocked, and inherits no other
// descriptor. The destructor ends it and leaves no zombie; this process may wait for its children and ignore SIGCHLD
// independently of that. In a fork of this process the object only closes what it inherited. One thread at a time.
class ChildProcess {
 public:
  // Starts the file `program`. io, with the reason, if it cannot be started.
  static Expected<std::unique_ptr<ChildProcess>> start(const std::string& program,
                                                       const std::vector<std::string>& arguments);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Sends a message and waits for the answer. Results as for receive_message().
  Received ask(std::string_view message, std::string& answer, std::chrono::milliseconds patience);
  // Waits for a message without sending one.
  Received receive(std::string& message, std::chrono::milliseconds patience);

  // Whether it still runs, as far as is known without waiting.
  [[nodiscard]] bool is_alive() const;
  // Whether this process started it, instead of inheriting the object by fork.
  [[nodiscard]] bool is_own() const;

  // The last 16 KiB of what it has written since the previous call.
  std::string take_output();

  struct End {
    int signal = 0;     // the signal that ended it; 0: none
    int exit_code = 0;  // if no signal ended it
    bool known = true;  // false if other code in this process has waited for it
  };
  // Ends it, if it has not ended by itself, and returns how it ended.
  End end();

 private:
  ChildProcess() = default;
  Received wait_for_message(Moment deadline);
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
