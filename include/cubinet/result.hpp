// Result<T>: a value or an Error. Only public headers use it, so that they need no third-party header; inside the
// library it is Expected<T> (util/expected.hpp).
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

  // The value. Throws std::logic_error with the error's message if there is none: calling value() without checking ok()
  // is a bug of the program.
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
