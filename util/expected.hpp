// Results that may be errors, inside the library. Public headers use cubinet::Result instead.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <tl/expected.hpp>

#include "cubinet/error.hpp"

namespace cubinet {

template <class T>
using Expected = tl::expected<T, Error>;

// Makes a failed result of an error.
inline tl::unexpected<Error> fail(Error error) noexcept { return tl::unexpected<Error>(std::move(error)); }

// `return fail(ErrorCode::io, "cannot open x: ...");`
inline tl::unexpected<Error> fail(ErrorCode code, std::string message, std::string detail = {}) {
  return fail(Error{code, std::move(message), std::move(detail)});
}

// Returns the error of a failed result from a function of another result type: `if (!opened) return
// propagate(opened);`. Moves the error out if `failed` is not const.
template <class T, class E>
tl::unexpected<E> propagate(tl::expected<T, E>& failed) noexcept {
  return tl::unexpected<E>(std::move(failed.error()));
}
template <class T, class E>
tl::unexpected<E> propagate(tl::expected<T, E>&& failed) noexcept {
  return tl::unexpected<E>(std::move(failed.error()));
}
template <class T, class E>
tl::unexpected<E> propagate(const tl::expected<T, E>& failed) {
  return tl::unexpected<E>(failed.error());
}

// The error for a caught exception: out_of_memory for std::bad_alloc, else `otherwise` with a message; a thread that
// could not be started is recognized. `subject`, if not empty, precedes the message. Returns out_of_memory if there is
// no memory for the message.
Error error_of(const std::exception& exception, ErrorCode otherwise, std::string_view subject = {}) noexcept;

// Stands for a caught object that is not a std::exception.
struct UnknownException final : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return "unknown exception"; }
};

// The name of an error code as in cubinet/error.hpp, "invalid_argument"; "unknown" for any other number.
std::string_view code_name(ErrorCode code);

// Returns the result of `work`, an Expected or a Result; an exception of `work` becomes the error that error_of()
// gives. Functions that promise to return all errors wrap their body in it, so that the functions they call may throw.
template <class Work>
auto without_exceptions(ErrorCode otherwise, Work&& work, std::string_view subject = {}) noexcept -> decltype(work()) {
  using Answer = decltype(work());
  const auto failed = [](Error error) -> Answer {
    if constexpr (std::is_constructible_v<Answer, tl::unexpected<Error>>) {
      return fail(std::move(error));
    } else {
      return error;
    }
  };
  try {
    return work();
  } catch (const std::exception& exception) {
    return failed(error_of(exception, otherwise, subject));
  } catch (...) {
    return failed(error_of(UnknownException(), otherwise, subject));
  }
}

}  // namespace cubinet
