#include "util/expected.hpp"

#include <new>
#include <system_error>

namespace cubinet {

Error error_of(const std::exception& exception, ErrorCode otherwise, std::string_view subject) noexcept {
  const auto error = [&](ErrorCode code, std::string_view message) {
    const std::string_view colon = subject.empty() ? "" : ": ";
    return Error{code, std::string(subject).append(colon).append(message), {}};
  };
  try {
    if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr)
      return error(ErrorCode::out_of_memory, "out of memory");
    const auto* system = dynamic_cast<const std::system_error*>(&exception);
    if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again) {
      return error(otherwise, "could not start a thread; raise the limit on threads (ulimit -u, pids.max)");
    }
    return error(otherwise, exception.what());
  } catch (...) {  // a string of 13 characters needs no allocation
    return {ErrorCode::out_of_memory, "out of memory", {}};
  }
}

std::string_view code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::io:
      return "io";
    case ErrorCode::cache_unusable:
      return "cache_unusable";
    case ErrorCode::compiler_missing:
      return "compiler_missing";
    case ErrorCode::compile_failed:
      return "compile_failed";
    case ErrorCode::driver_missing:
      return "driver_missing";
    case ErrorCode::wrong_device:
      return "wrong_device";
    case ErrorCode::driver_failed:
      return "driver_failed";
    case ErrorCode::not_prepared:
      return "not_prepared";
    case ErrorCode::capturing:
      return "capturing";
    case ErrorCode::no_room:
      return "no_room";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
  }
  return "unknown";
}

}  // namespace cubinet
