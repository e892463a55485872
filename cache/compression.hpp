// zstd, for what is shipped: objects in a root lie there as they are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "util/expected.hpp"

namespace cubinet::cache {

// One frame that says its content's size. The same bytes give the same frame, as long as the library is of one version
// (zstd_version()). Precondition: there are bytes. io only if the library itself fails, for want of memory, say.
Expected<std::string> compress(std::string_view bytes);

// The content of what is exactly one frame that says, and has, exactly `bytes` bytes; invalid_argument otherwise. Takes
// memory for these and no more, whatever the frame says: bound `bytes` first.
Expected<std::string> decompress(std::string_view frame, std::size_t bytes);

// "1.5.4"
std::string zstd_version();

}  // namespace cubinet::cache
