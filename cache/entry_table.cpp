#include "cache/entry_table.hpp"

#include <algorithm>
#include <future>
#include <utility>

#include "cache/facts_json.hpp"
#include "util/digest.hpp"
#include "util/json_text.hpp"

namespace cubinet::cache {
namespace {

constexpr const char* select_rows =
    "SELECT key, bytes, family, arch, n, k, registers, spill_bytes, smem_bytes, compile_ms, created, kernel_names, "
    "record, digest, last_used, hits, config, compiler FROM entries";

// Of a table without the later columns: no row is sound.
constexpr const char* select_early_rows =
    "SELECT key, bytes, family, arch, n, k, registers, spill_bytes, smem_bytes, compile_ms, created, kernel_names, "
    "record, '', last_used, hits, config, '' FROM entries";

constexpr const char* put_row =
    "INSERT INTO entries (key, bytes, family, arch, n, k, registers, spill_bytes, smem_bytes, compile_ms, created, "
    "kernel_names, record, row_digest, last_used, hits, config, compiler, digest) "
    "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) "
    "ON CONFLICT (key) DO UPDATE SET bytes=excluded.bytes, family=excluded.family, arch=excluded.arch, n=excluded.n, "
    "k=excluded.k, config=excluded.config, registers=excluded.registers, spill_bytes=excluded.spill_bytes, "
    "smem_bytes=excluded.smem_bytes, "
    "compile_ms=excluded.compile_ms, created=excluded.created, kernel_names=excluded.kernel_names, "
    "record=excluded.record, row_digest=excluded.row_digest, compiler=excluded.compiler, digest=excluded.digest";

// Noise in the middle of a page can leave a sound tree with other texts in it; this tells.
std::string digest_of(const Entry& entry, const Facts& described) {
  const auto facts = facts_to_json(described);
  if (!facts) return {};
  const std::string bytes = std::to_string(entry.bytes);
  std::string text;
  text.reserve(2 * entry.key.bytes.size() + bytes.size() + facts->size() + entry.record.size() + 3);
  text.append(entry.key.hex()).append(1, '\n').append(bytes).append(1, '\n').append(*facts).append(1, '\n');
  return util::sha256_hex(text.append(entry.record));
}

std::string digest_of(const Entry& entry) { return digest_of(entry, entry.facts); }

// The digest that builds without the column `compiler` expect.
std::string early_digest_of(const Entry& entry) {
  if (entry.facts.compiler.empty()) return digest_of(entry);
  Facts facts = entry.facts;
  facts.compiler.clear();
  return digest_of(entry, facts);
}

// 0 is never; a clock may say 1970 or less.
constexpr std::int64_t first_moment = 1;

std::int32_t narrow(std::int64_t value) { return static_cast<std::int32_t>(value); }

// Without a look at the row's digest.
Index::Row read_row(const Statement& row, const Key& key) {
  Index::Row out;
  Entry& entry = out.entry;
  entry.key = key;
  entry.bytes = row.integer(1);
  entry.facts.family = row.text(2);
  entry.facts.arch = row.text(3);
  entry.facts.n = row.integer(4);
  entry.facts.k = row.integer(5);
  entry.facts.registers = narrow(row.integer(6));
  entry.facts.spill_bytes = narrow(row.integer(7));
  entry.facts.smem_bytes = narrow(row.integer(8));
  entry.facts.compile_ms = row.real(9);
  entry.facts.created = row.integer(10);
  entry.record = row.text(12);
  entry.last_used = row.count(14);  // the digest does not cover what changes with use
  entry.hits = row.count(15);
  entry.facts.config = row.text(16);
  entry.facts.compiler = row.text(17);
  return out;
}

// A row that was read, and what has yet to be looked at: of 100,000 rows that takes half a second.
struct Unchecked {
  Index::Row* row;
  std::string names;
  std::string digest;
};

void check(const std::vector<Unchecked>& rows) {
  for (const auto& [row, names_text, digest] : rows) {
    auto names = texts_from_json(names_text);
    row->sound = names.has_value();
    if (names) row->entry.facts.kernel_names = std::move(*names);
    row->sound = row->sound && digest == digest_of(row->entry);
  }
}

// Checks rows on another thread while further ones are read.
class Checker {
 public:
  void add(Unchecked row) {
    rows_.push_back(std::move(row));
    if (rows_.size() == batch) start();
  }
  // Until all are checked.
  void finish() {
    if (earlier_.valid()) earlier_.get();
    check(rows_);
  }

 private:
  static constexpr std::size_t batch = 1000;

  void start() {
    if (earlier_.valid()) earlier_.get();
    earlier_ = std::async([rows = std::exchange(rows_, {})] { check(rows); });
  }

  std::vector<Unchecked> rows_;
  std::future<void> earlier_;
};

SqlExpected<void> put(Statement& statement, const Entry& entry) {
  const std::string key = entry.key.hex();
  const std::string names = util::json_strings(entry.facts.kernel_names);
  const std::string early_digest = early_digest_of(entry);
  const std::string digest = digest_of(entry);
  const Facts& facts = entry.facts;
  statement.reset();
  statement.bind(key).bind(entry.bytes).bind(facts.family).bind(facts.arch).bind(facts.n).bind(facts.k);
  statement.bind(std::int64_t{facts.registers}).bind(std::int64_t{facts.spill_bytes});
  statement.bind(std::int64_t{facts.smem_bytes}).bind(facts.compile_ms).bind(facts.created);
  statement.bind(names).bind(entry.record).bind(early_digest).bind(entry.last_used).bind(entry.hits);
  statement.bind(facts.config).bind(facts.compiler).bind(digest);
  return statement.run();
}

}  // namespace

SqlExpected<bool> has_compilers(Database& database) {
  return database.integer("SELECT count(*) FROM pragma_table_info('entries') WHERE name IN ('compiler', 'digest')")
      .map([](std::int64_t columns) { return columns == 2; });
}

SqlExpected<Index::Rows> read_rows(Database& database) {
  auto check = database.text("PRAGMA quick_check(1)");
  if (!check) return propagate(check);
  if (*check != "ok") return damaged(*check);
  const auto whole = has_compilers(database);
  if (!whole) return propagate(whole);
  auto statement = database.prepare(*whole ? select_rows : select_early_rows);
  if (!statement) return propagate(statement);
  Index::Rows rows;
  Checker checker;
  while (true) {
    const auto row = statement->step();
    if (!row) return propagate(row);
    if (!*row) break;
    const auto key = Key::from_hex(statement->text(0));
    if (!key) return damaged("a row's key is not a key");
    const std::size_t before = rows.size();
    const auto placed = rows.try_emplace(rows.end(), *key, read_row(*statement, *key));
    if (rows.size() == before) return damaged("a key has two rows");
    checker.add({&placed->second, statement->text(11), statement->text(13)});
  }
  checker.finish();
  return rows;
}

SqlExpected<void> put_rows(Database& database, const std::vector<Entry>& entries) {
  auto insert = database.prepare(put_row);
  if (!insert) return propagate(insert);
  for (const Entry& entry : entries) {
    if (auto done = put(*insert, entry); !done) return done;
  }
  return {};
}

SqlExpected<void> distrust_row(Database& database, const Key& key) {
  auto update = database.prepare("UPDATE entries SET row_digest = '', digest = '' WHERE key = ?");
  if (!update) return propagate(update);
  const std::string hex = key.hex();
  return update->bind(hex).run();
}

SqlExpected<std::int64_t> drop_rows(Database& database, const std::vector<Key>& keys) {
  auto remove = database.prepare("DELETE FROM entries WHERE key = ?");
  if (!remove) return propagate(remove);
  std::int64_t dropped = 0;
  for (const Key& key : keys) {
    const std::string hex = key.hex();
    remove->reset();
    if (auto done = remove->bind(hex).run(); !done) return propagate(done);
    dropped += database.changes();
  }
  return dropped;
}

SqlExpected<void> set_used(Database& database, const std::vector<Key>& keys, std::int64_t now) {
  auto update = database.prepare("UPDATE entries SET last_used = ? WHERE key = ?");
  if (!update) return propagate(update);
  for (const Key& key : keys) {
    const std::string hex = key.hex();
    update->reset();
    if (auto done = update->bind(now).bind(hex).run(); !done) return done;
  }
  return {};
}

SqlExpected<std::vector<Key>> add_hits(Database& database, const std::vector<Key>& keys, std::int64_t now) {
  std::vector<Key> without_row;
  auto update = database.prepare("UPDATE entries SET hits = hits + 1, last_used = max(last_used, ?) WHERE key = ?");
  if (!update) return propagate(update);
  for (const Key& key : keys) {
    const std::string hex = key.hex();
    update->reset();
    if (auto done = update->bind(std::max(now, first_moment)).bind(hex).run(); !done)
      return propagate(done);
    if (database.changes() == 0) without_row.push_back(key);
  }
  return without_row;
}

}  // namespace cubinet::cache
