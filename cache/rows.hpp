// Objects and the rows of the index beside each other.
#pragma once

#include <cstdint>
#include <vector>

#include "cache/index.hpp"
#include "cache/layer.hpp"

namespace cubinet::cache {

// What the row of an object should say; its use is what `row` (may be null) has of it.
Entry make_entry(const Key& key, std::int64_t bytes, const Object& object, const Index::Row* row);

// Null when there is none.
const Index::Row* find_row(const Index::Rows& rows, const Key& key);

// Whether the row (may be null) is sound and says what the entry does.
bool describes(const Index::Row* row, const Entry& entry);

// Keys with a row and no object. Looks again at each, since an object may have come after the listing was made.
std::vector<Key> dangling(const Index::Rows& rows, const Layer::Listing& listing, const Layer& place);

}  // namespace cubinet::cache
