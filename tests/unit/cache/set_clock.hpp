// A clock that a test sets, and SQL statements on an index from outside of the library.
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "cache/layout.hpp"
#include "cache/sqlite.hpp"
#include "util/clock.hpp"

namespace cubinet::test {

inline constexpr std::int64_t day = util::seconds_per_day;

class SetClock final : public util::Clock {
 public:
  std::int64_t now = 1'764'000'000;
  [[nodiscard]] std::int64_t seconds() const override { return now; }
};

inline cache::Database open_index(const cache::Layout& layout) {
  auto database =
      cache::Database::open(layout.index(), cache::Database::Mode::read_write, std::chrono::milliseconds(5000));
  if (!database) throw std::runtime_error(database.error().message);
  return std::move(*database);
}

inline void sql(const cache::Layout& layout, const std::string& statements) {
  auto database = open_index(layout);
  if (auto done = database.run(statements.c_str()); !done) throw std::runtime_error(done.error().message);
}

inline std::int64_t number(const cache::Layout& layout, const char* query) {
  return open_index(layout).integer(query).value();
}

}  // namespace cubinet::test
