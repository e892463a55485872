#include "cache/entry_table.hpp"

#include <future>
#include <span>

#include "cache/facts_json.hpp"
#include "util/digest.hpp"

namespace cubinet::cache {
namespace {

constexpr const char* select_rows =
    "SELECT key, bytes, family, arch, n, k, registers, spill_bytes, smem_bytes, compile_ms, created, kernel_names, "
    "record, row_digest, last_used, hits, config FROM entries";

constexpr const char* put_row =
    "INSERT INTO entries (key, bytes, family, arch, n, k, registers, spill_bytes, smem_bytes, compile_ms, created, "
    "kernel_names, record, row_digest, last_used, hits, config) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) "
    "ON CONFLICT (key) DO UPDATE SET bytes=excluded.bytes, family=excluded.family, arch=excluded.arch, n=excluded.n, "
    "k=excluded.k, config=excluded.config, registers=excluded.registers, spill_bytes=excluded.spill_bytes, "
    "smem_bytes=excluded.smem_bytes, "
    "compile_ms=excluded.compile_ms, created=excluded.created, kernel_names=excluded.kernel_names, "
    "record=excluded.record, row_digest=excluded.row_digest";

// Noise in the middle of a page can leave a sound tree with other texts in it; this tells.
std::string row_digest(const Entry& entry) {
  const auto facts = facts_to_json(entry.facts);
  if (!facts) return {};
  const std::string bytes = std::to_string(entry.bytes);
  std::string text;
  text.reserve(2 * entry.key.bytes.size() + bytes.size() + facts->size() + entry.record.size() + 3);
  text.append(entry.key.hex()).append(1, '\n').append(bytes).append(1, '\n').append(*facts).append(1, '\n');
  return util::sha256_hex(text.append(entry.record));
}

std::int32_t narrow(std::int64_t value) { return static_cast<std::int32_t>(value); }

// The digest of a row does not cover the columns that change with use. What cannot have been written by us there is
// noise and counts as 0: a sum over many rows then stays within 64 bits.
std::int64_t count(std::int64_t value) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  return value < 0 || value > most ? 0 : value;
}

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
  auto names = texts_from_json(row.text(11));
  entry.record = row.text(12);
  entry.last_used = count(row.integer(14));
  entry.hits = count(row.integer(15));
  entry.facts.config = row.text(16);
  out.sound = names.has_value();
  if (names) entry.facts.kernel_names = std::move(*names);
  return out;
}

struct Unchecked {
  Index::Row* row;
  std::string digest;
};

void check(std::span<const Unchecked> rows) {
  for (const auto& [row, digest] : rows) row->sound = row->sound && digest == row_digest(row->entry);
}

// The same on two threads where there are many rows: of 100,000 it takes most of a second.
void check_all(std::span<const Unchecked> rows) {
  constexpr std::size_t many = 1000;
  const std::size_t shared = rows.size() < many ? 0 : rows.size() / 2;
  auto other = std::async(shared == 0 ? std::launch::deferred : std::launch::async | std::launch::deferred,
                          [&] { check(rows.first(shared)); });
  check(rows.subspan(shared));
  other.get();
}

SqlExpected<void> put(Statement& statement, const Entry& entry) {
  const std::string key = entry.key.hex();
  const std::string names = texts_to_json(entry.facts.kernel_names);
  const std::string digest = row_digest(entry);
  const Facts& facts = entry.facts;
  statement.reset();
  statement.bind(key).bind(entry.bytes).bind(facts.family).bind(facts.arch).bind(facts.n).bind(facts.k);
  statement.bind(std::int64_t{facts.registers}).bind(std::int64_t{facts.spill_bytes});
  statement.bind(std::int64_t{facts.smem_bytes}).bind(facts.compile_ms).bind(facts.created);
  statement.bind(names).bind(entry.record).bind(digest).bind(entry.last_used).bind(entry.hits);
  statement.bind(facts.config);
  return statement.run();
}

}  // namespace

SqlExpected<Index::Rows> read_rows(Database& database) {
  auto check = database.text("PRAGMA quick_check(1)");
  if (!check) return tl::make_unexpected(check.error());
  if (*check != "ok") return damaged(*check);
  auto statement = database.prepare(select_rows);
  if (!statement) return tl::make_unexpected(statement.error());
  Index::Rows rows;
  std::vector<Unchecked> unchecked;
  while (true) {
    const auto row = statement->step();
    if (!row) return tl::make_unexpected(row.error());
    if (!*row) break;
    const auto key = Key::from_hex(statement->text(0));
    if (!key) return damaged("a row's key is not a key");
    const auto placed = rows.insert_or_assign(*key, read_row(*statement, *key)).first;
    unchecked.push_back({&placed->second, statement->text(13)});
  }
  check_all(unchecked);
  return rows;
}

SqlExpected<void> put_rows(Database& database, const std::vector<Entry>& entries) {
  auto insert = database.prepare(put_row);
  if (!insert) return tl::make_unexpected(insert.error());
  for (const Entry& entry : entries) {
    if (auto done = put(*insert, entry); !done) return done;
  }
  return {};
}

SqlExpected<std::int64_t> drop_rows(Database& database, const std::vector<Key>& keys) {
  auto remove = database.prepare("DELETE FROM entries WHERE key = ?");
  if (!remove) return tl::make_unexpected(remove.error());
  std::int64_t dropped = 0;
  for (const Key& key : keys) {
    const std::string hex = key.hex();
    remove->reset();
    if (auto done = remove->bind(hex).run(); !done) return tl::make_unexpected(done.error());
    dropped += database.changes();
  }
  return dropped;
}

SqlExpected<std::vector<Key>> add_hits(Database& database, const std::vector<Key>& keys, std::int64_t now) {
  std::vector<Key> without_row;
  auto update = database.prepare("UPDATE entries SET hits = hits + 1, last_used = ? WHERE key = ?");
  if (!update) return tl::make_unexpected(update.error());
  for (const Key& key : keys) {
    const std::string hex = key.hex();
    update->reset();
    if (auto done = update->bind(now).bind(hex).run(); !done) return tl::make_unexpected(done.error());
    if (database.changes() == 0) without_row.push_back(key);
  }
  return without_row;
}

}  // namespace cubinet::cache
