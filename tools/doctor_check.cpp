#include "tools/doctor_check.hpp"

namespace cubinet::tools {

const char* state_name(State state) {
  switch (state) {
    case State::ok:
      return "ok";
    case State::absent:
      return "absent";
    case State::failed:
      return "failed";
  }
  return "failed";
}

Check absent(const char* name, const Error& error, const std::string& purpose) {
  const std::size_t end = error.message.rfind("; ");
  if (end == std::string::npos) return {name, State::absent, error.message, purpose, ""};
  const std::string advice = error.message.substr(end + 2);
  return {name, State::absent, error.message.substr(0, end), purpose.empty() ? advice : purpose + ": " + advice, ""};
}

}  // namespace cubinet::tools
