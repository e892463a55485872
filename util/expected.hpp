// Values that may be errors, inside the library.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include <tl/expected.hpp>

#include "cubinet/error.hpp"

namespace cubinet {

template <class T>
using Expected = tl::expected<T, Error>;

// An error as a result.
inline tl::unexpected<Error> fail(Error error) noexcept { return tl::unexpected<Error>(std::move(error)); }

// Shorthand for the failing branch: `return fail(ErrorCode::io, "cannot open x: ...");`
inline tl::unexpected<Error> fail(ErrorCode code, std::string message, std::string detail = {}) {
  return fail(Error{code, std::move(message), std::move(detail)});
}

// Returns the error of a failed result from a function of another result type:
// `if (!opened) return propagate(opened);`. Moves the error out where `failed` is not const.
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

// What was thrown: out_of_memory, a thread that could not be started, or `otherwise`. `subject`, if there is one,
// stands before the message. Needs no memory to say that there is none.
inline Error error_of(const std::exception& exception, ErrorCode otherwise, std::string_view subject = {}) noexcept {
  const auto said = [&](ErrorCode code, std::string_view message) {
    const std::string_view colon = subject.empty() ? "" : ": ";
    return Error{code, std::string(subject).append(colon).append(message), {}};
  };
  try {
    if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr)
      return said(ErrorCode::out_of_memory, "out of memory");
    const auto* system = dynamic_cast<const std::system_error*>(&exception);
    if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again) {
      return said(otherwise, "the system starts no more threads; raise the limit on them (ulimit -u, pids.max)");
    }
    return said(otherwise, exception.what());
  } catch (...) {  // a string of 13 characters takes no memory of its own
    return {ErrorCode::out_of_memory, "out of memory", {}};
  }
}

// What was thrown and is no std::exception.
struct UnknownException final : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return "unknown exception"; }
};

// What `work` answers, an Expected or a Result; what it throws is an error of error_of(). For functions that promise to
// return their errors: it stands where the promise is made, and what is called there may throw.
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
