#include "cache/rows.hpp"

namespace cubinet::cache {

Entry make_entry(const Key& key, std::int64_t bytes, const Object& object, const Index::Row* row) {
  Entry entry;
  entry.key = key;
  entry.facts = object.facts;
  entry.bytes = bytes;
  entry.record = object.record;
  if (row != nullptr) {
    entry.last_used = row->entry.last_used;
    entry.hits = row->entry.hits;
  }
  return entry;
}

const Index::Row* find_row(const Index::Rows& rows, const Key& key) {
  const auto it = rows.find(key);
  return it == rows.end() ? nullptr : &it->second;
}

bool describes(const Index::Row* row, const Entry& entry) {
  return row != nullptr && row->sound && row->entry.bytes == entry.bytes && row->entry.record == entry.record &&
         row->entry.facts == entry.facts;
}

std::vector<Key> dangling(const Index::Rows& rows, const Layer::Listing& listing, const Layer& place) {
  std::vector<Key> keys;
  auto object = listing.objects.begin();
  for (const auto& [key, row] : rows) {
    while (object != listing.objects.end() && object->first < key) ++object;
    const bool listed = object != listing.objects.end() && object->first == key;
    if (!listed && !place.exists(key)) keys.push_back(key);
  }
  return keys;
}

}  // namespace cubinet::cache
