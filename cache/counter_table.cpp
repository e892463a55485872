#include "cache/index_tables.hpp"

#include <map>
#include <string>

namespace cubinet::cache {
namespace {

using Values = std::map<std::string, std::int64_t>;

SqlExpected<Values> read_values(Database& database) {
  auto statement = database.prepare("SELECT name, value FROM counters");
  if (!statement) return propagate(statement);
  Values values;
  while (true) {
    const auto row = statement->step();
    if (!row) return propagate(row);
    if (!*row) return values;
    values[statement->text(0)] = statement->count(1);
  }
}

}  // namespace

SqlExpected<Counters> read_counters(Database& database) {
  auto values = read_values(database);
  if (!values) return propagate(values);
  Counters counters;
  for (const CounterField& field : counter_fields) counters.*field.value = (*values)[field.name];
  return counters;
}

SqlExpected<void> add_counters(Database& database, const Counters& counted) {
  auto statement = database.prepare(
      "INSERT INTO counters (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = value + "
      "excluded.value");
  if (!statement) return propagate(statement);
  for (const CounterField& field : counter_fields) {
    if (counted.*field.value == 0) continue;
    statement->reset();
    if (auto done = statement->bind(std::string_view(field.name)).bind(counted.*field.value).run(); !done) return done;
  }
  return {};
}

SqlExpected<Totals> read_totals(Database& database) {
  auto values = read_values(database);
  if (!values) return propagate(values);
  return Totals{(*values)["entries"], (*values)["bytes"]};
}

SqlExpected<void> recount(Database& database) {
  return database.run(
      "INSERT OR REPLACE INTO counters SELECT 'entries', count(*) FROM entries UNION ALL SELECT 'bytes', "
      "coalesce(sum(bytes), 0) FROM entries");
}

SqlExpected<void> remember_evicted(Database& database, const std::vector<Key>& keys) {
  const auto latest = database.integer("SELECT coalesce(max(turn), 0) FROM evicted");
  if (!latest) return propagate(latest);
  auto insert = database.prepare("INSERT OR REPLACE INTO evicted (key, turn) VALUES (?, ?)");
  if (!insert) return propagate(insert);
  std::int64_t turn = *latest;
  for (const Key& key : keys) {
    const std::string hex = key.hex();
    insert->reset();
    if (auto done = insert->bind(hex).bind(++turn).run(); !done) return done;
  }
  auto trim = database.prepare("DELETE FROM evicted WHERE turn <= ?");
  if (!trim) return propagate(trim);
  return trim->bind(turn - max_evicted).run();
}

SqlExpected<std::int64_t> forget_evicted(Database& database, const std::vector<Key>& keys) {
  auto forget = database.prepare("DELETE FROM evicted WHERE key = ?");
  if (!forget) return propagate(forget);
  std::int64_t forgotten = 0;
  for (const Key& key : keys) {
    const std::string hex = key.hex();
    forget->reset();
    if (auto done = forget->bind(hex).run(); !done) return propagate(done);
    forgotten += database.changes();
  }
  return forgotten;
}

SqlExpected<std::vector<Key>> read_evicted(Database& database) {
  auto statement = database.prepare("SELECT key FROM evicted ORDER BY key");
  if (!statement) return propagate(statement);
  std::vector<Key> keys;
  while (true) {
    const auto row = statement->step();
    if (!row) return propagate(row);
    if (!*row) return keys;
    if (const auto key = Key::from_hex(statement->text(0))) keys.push_back(*key);
  }
}

}  // namespace cubinet::cache
