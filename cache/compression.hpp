// zstd compression for bundles. Objects in a root are not compressed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "util/expected.hpp"

namespace cubinet::cache {

// Returns one frame that states its content's size. The same bytes give the same frame with the same version of the
// library (zstd_version()). Precondition: `bytes` is not empty. io only if the library itself fails, as for lack of
// memory.
Expected<std::string> compress(std::string_view bytes);

// Returns the content of exactly one frame that states and has exactly `bytes` bytes; invalid_argument otherwise.
// Allocates memory for these and no more, whatever the frame states: check `bytes` against a bound first.
Expected<std::string> decompress(std::string_view frame, std::size_t bytes);

// The version of the library, as in "1.5.4".
std::string zstd_version();

}  // namespace cubinet::cache
