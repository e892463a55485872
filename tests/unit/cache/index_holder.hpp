// Another process that holds an index exclusively for as long as the object lives.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

#include "cache/sqlite.hpp"

namespace cubinet::test {

class IndexHolder {
 public:
  explicit IndexHolder(const std::filesystem::path& index) {
    int ready[2];
    if (::pipe(ready) != 0) throw std::runtime_error("no pipe");
    child_ = ::fork();
    if (child_ == 0) {
      auto database = cache::Database::open(index, cache::Database::Mode::read_write, std::chrono::seconds(5));
      if (!database || !database->run("BEGIN EXCLUSIVE") || ::write(ready[1], "x", 1) != 1) ::_exit(1);
      while (true) ::pause();
    }
    ::close(ready[1]);
    char byte = 0;
    const bool holds = ::read(ready[0], &byte, 1) == 1;
    ::close(ready[0]);
    if (!holds) throw std::runtime_error("the index could not be held");
  }
  IndexHolder(const IndexHolder&) = delete;
  IndexHolder& operator=(const IndexHolder&) = delete;
  ~IndexHolder() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

 private:
  pid_t child_ = -1;
};

}  // namespace cubinet::test
