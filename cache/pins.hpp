// Entries that are never evicted: a file pins/<key> for each, so that a pin outlives the index.
#pragma once

#include <set>

#include "cache/layout.hpp"
#include "util/expected.hpp"
#include "util/system_calls.hpp"

namespace cubinet::cache {

// Durable when it returns. Success when it is pinned already.
Expected<void> add_pin(util::SystemCalls& calls, const Layout& layout, const Key& key);

// False when there was no pin.
Expected<bool> drop_pin(util::SystemCalls& calls, const Layout& layout, const Key& key);

// Names that are no keys are passed over. io when the folder cannot be read.
Expected<std::set<Key>> read_pins(const Layout& layout);

}  // namespace cubinet::cache
