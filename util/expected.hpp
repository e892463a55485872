// Values that may be errors, inside the library.
#pragma once

#include <string>
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

}  // namespace cubinet
