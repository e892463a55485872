// What `cubinet doctor` says of one thing that this machine has or lacks.
#pragma once

#include <string>

#include "cubinet/error.hpp"

namespace cubinet::tools {

enum class State { ok, absent, failed };

struct Check {
  std::string name;
  State state = State::ok;
  std::string found;
  std::string mend = {};  // empty when there is nothing to mend, or another check says what
  std::string note = {};  // something that is no obstacle; may be empty
};

// "ok", ...
const char* state_name(State state);

// A check from an error whose message ends in "; ADVICE": the advice is the mend, and is not said twice. `purpose`, if
// there is one, says what the mend is for.
Check absent(const char* name, const Error& error, const std::string& purpose = {});

}  // namespace cubinet::tools
