// Which run of the command this is, as its progress file tells it.
#pragma once

#include <cstdint>
#include <string>

namespace cubinet::tools {

// A process's number says nothing outside its own namespace: in two containers on one volume both runs may be
// process 1.
struct RunIdentity {
  std::int64_t process = 0;
  std::string run;            // 32 hexadecimal digits, of this run alone
  std::string host;           // the machine's or container's name
  std::string pid_namespace;  // in which `process` counts: the machine's boot and the namespace; empty: not known
};

// Of this process, drawn by the first call; the child of a fork is another run. Thread-safe. Throws std::bad_alloc.
RunIdentity this_run();

}  // namespace cubinet::tools
