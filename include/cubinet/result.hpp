// Result<T>: a value or an Error, for the public interface only, so that no third-party header
// appears in it (inside the library tl::expected is used, see util/expected.hpp).
#pragma once

#include <stdexcept>
#include <utility>
#include <variant>

#include "cubinet/error.hpp"

namespace cubinet {

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  // The value. Throws std::logic_error carrying the error's message when there is none: asking for
  // a value without looking at ok() first is a mistake in the program, not an outcome.
  T& value() & { return require(), std::get<0>(state_); }
  const T& value() const& { return require(), std::get<0>(state_); }
  T&& value() && { return require(), std::get<0>(std::move(state_)); }

  // The error. Precondition: !ok().
  [[nodiscard]] const Error& error() const { return std::get<1>(state_); }

 private:
  void require() const {
    if (!ok()) throw std::logic_error(std::get<1>(state_).message);
  }
  std::variant<T, Error> state_;
};

// Success without a value.
using Status = Result<std::monostate>;

}  // namespace cubinet
