// Cabinets with entries that are not kernels, for commands that do not run any.
#pragma once

#include <string>

#include "catch.hpp"
#include "command.hpp"
#include "unit/cache/support.hpp"

namespace cubinet::cli {

// The cabinet under the sandbox's home.
inline std::string home_root(const Sandbox& sandbox) { return sandbox.path("home/.cache/cubinet"); }

// Publishes an object into it.
inline void publish(const Sandbox& sandbox, const cache::Object& object) {
  auto cabinet = cache::Cabinet::open(home_root(sandbox), true);
  REQUIRE(cabinet);
  REQUIRE(cabinet->publish(test::key_of(object.record), object, cache::Origin::compiled));
}

// Publishes entries 0 .. count - 1 of unit/cache/support.hpp: each has a larger N, is younger and took longer to
// compile than the one before.
inline void fill_synthetic(const Sandbox& sandbox, int count) {
  for (int i = 0; i < count; ++i) publish(sandbox, test::object_of(i));
}

// The number of the entry with this key; -1 if it is none of the first 1,000.
inline int number_of(const std::string& key) {
  for (int i = 0; i < 1000; ++i) {
    if (test::key_of(i).hex() == key) return i;
  }
  return -1;
}

}  // namespace cubinet::cli
