// Runs programs under strace, which lists their system calls or makes some of them fail.
#pragma once

#include <fcntl.h>

#include <filesystem>
#include <string>
#include <vector>

#include "unit/cache/support.hpp"

namespace cubinet::test {

// The result of a program.
struct Outcome {
  int status = 0;  // exit status; -1 if a signal ended it
  std::string said;
};

// Runs a program from PATH. Its standard error is written to `error_file`.
inline Outcome run(const std::vector<std::string>& command, const std::filesystem::path& error_file) {
  const pid_t child = start_child([&] {
    const int out = ::open(error_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (out < 0 || ::dup2(out, STDERR_FILENO) < 0) return 97;
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    return 127;
  });
  Outcome outcome;
  outcome.status = wait_for(child);
  outcome.said = contents(error_file);
  return outcome;
}

// The command line that runs `command` under strace, which writes its trace to `log`.
inline std::vector<std::string> traced(const std::vector<std::string>& options, const std::filesystem::path& log,
                                       const std::vector<std::string>& command) {
  std::vector<std::string> words = {"strace", "-f", "-qq", "-o", log.native()};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

inline bool strace_works() {
  const TempFolder folder;
  return run(traced({"-e", "inject=write:error=EIO:when=1000"}, "/dev/null", {"true"}), folder / "err").status == 0;
}

}  // namespace cubinet::test
