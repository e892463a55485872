// Values that may be errors, inside the library.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include <tl/expected.hpp>

#include "cubinet/error.hpp"

namespace cubinet {

template <class T>
using Expected = tl::expected<T, Error>;

// Shorthand for the failing branch: `return fail(ErrorCode::io, "cannot open x: ...");`
inline tl::unexpected<Error> fail(ErrorCode code, std::string message, std::string detail = {}) {
  return tl::make_unexpected(Error{code, std::move(message), std::move(detail)});
}

// What was thrown: out_of_memory, a thread that could not be started, or `otherwise`.
inline Error error_of(const std::exception& exception, ErrorCode otherwise) {
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr)
    return {ErrorCode::out_of_memory, "out of memory", {}};
  const auto* system = dynamic_cast<const std::system_error*>(&exception);
  if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again) {
    return {otherwise, "the system starts no more threads; raise the limit on them (ulimit -u, pids.max)", {}};
  }
  return {otherwise, exception.what(), {}};
}

}  // namespace cubinet
