#include "cache/index_tables.hpp"

#include <algorithm>
#include <array>
#include <future>
#include <utility>

#include "cache/flat_json.hpp"
#include "util/digest.hpp"
#include "util/json_text.hpp"

namespace cubinet::cache {
namespace {

// The columns that are not details, in the order in which statements name them; the details follow in the order of
// detail_fields.
constexpr const char* row_columns = "key, bytes, arch, compile_ms, created, record, last_used, hits, compiler, digest";
// The same columns for a table without the later ones. In such a table no row is sound.
constexpr const char* early_row_columns = "key, bytes, arch, compile_ms, created, record, last_used, hits, '', ''";
constexpr int digest_column = 9;
constexpr int first_detail = 10;

std::string select_rows(bool with_compilers) {
  std::string sql = "SELECT " + std::string(with_compilers ? row_columns : early_row_columns);
  for (const DetailField& field : detail_fields) sql += std::string(", ") + field.name;
  return sql + " FROM entries";
}

// An existing row keeps its hits and last_used.
std::string put_row() {
  std::string columns = std::string(row_columns) + ", row_digest";
  std::string values = "?,?,?,?,?,?,?,?,?,?,?";
  std::string updates =
      "bytes=excluded.bytes, arch=excluded.arch, compile_ms=excluded.compile_ms, created=excluded.created, "
      "record=excluded.record, compiler=excluded.compiler, digest=excluded.digest, row_digest=excluded.row_digest";
  for (const DetailField& field : detail_fields) {
    columns += std::string(", ") + field.name;
    values += ",?";
    updates += std::string(", ") + field.name + "=excluded." + field.name;
  }
  return "INSERT INTO entries (" + columns + ") VALUES (" + values + ") ON CONFLICT (key) DO UPDATE SET " + updates;
}

// The digest detects corruption inside a page, which can leave the tree sound but change its values.
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

// The digest that is compared by builds without the column `compiler`.
std::string early_digest_of(const Entry& entry) {
  if (entry.facts.compiler.empty()) return digest_of(entry);
  Facts facts = entry.facts;
  facts.compiler.clear();
  return digest_of(entry, facts);
}

// The earliest time of use: 0 means never used, and a clock may show 1970 or earlier.
constexpr std::int64_t first_moment = 1;

// Reads a detail. A list is stored as JSON text; check() parses it.
void read_detail(const Statement& row, int column, const DetailField& field, Details& details) {
  if (field.type == DetailField::Type::number) return details.set(field.name, row.integer(column));
  std::string text = row.text(column);
  if (!field.optional || !text.empty()) details.set(field.name, std::move(text));
}

// Reads a row without checking its digest.
Index::Row read_row(const Statement& row, const Key& key) {
  Index::Row out;
  Entry& entry = out.entry;
  entry.key = key;
  entry.bytes = row.integer(1);
  entry.facts.arch = row.text(2);
  entry.facts.compile_ms = row.real(3);
  entry.facts.created = row.integer(4);
  entry.record = row.text(5);
  entry.last_used = row.count(6);  // the digest does not cover what changes with use
  entry.hits = row.count(7);
  entry.facts.compiler = row.text(8);
  int column = first_detail;
  for (const DetailField& field : detail_fields) read_detail(row, column++, field, entry.facts.details);
  return out;
}

// A row that was read but not checked yet: parsing its lists and comparing its digest takes half a second for 100,000
// rows.
struct Unchecked {
  Index::Row* row;
  std::string digest;
};

// Parses the JSON of each list. False when one is not a list of texts.
bool parse_lists(Details& details) {
  for (const DetailField& field : detail_fields) {
    if (field.type != DetailField::Type::texts) continue;
    auto texts = read_texts(details.text(field.name));
    if (!texts) return false;
    details.set(field.name, std::move(*texts));
  }
  return true;
}

void check(const std::vector<Unchecked>& rows) {
  for (const auto& [row, digest] : rows) {
    row->sound = parse_lists(row->entry.facts.details) && digest == digest_of(row->entry);
  }
}

// Checks rows on another thread while further ones are read.
class Checker {
 public:
  void add(Unchecked row) {
    rows_.push_back(std::move(row));
    if (rows_.size() == batch) start();
  }
  // Waits until all rows are checked.
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
  const Facts& facts = entry.facts;
  const std::string key = entry.key.hex();
  const std::string early_digest = early_digest_of(entry);
  const std::string digest = digest_of(entry);
  statement.reset();
  statement.bind(key).bind(entry.bytes).bind(facts.arch).bind(facts.compile_ms).bind(facts.created);
  statement.bind(entry.record).bind(entry.last_used).bind(entry.hits).bind(facts.compiler).bind(digest);
  statement.bind(early_digest);
  std::array<std::string, detail_fields.size()> lists;  // bound texts live until the step
  for (std::size_t i = 0; i < detail_fields.size(); ++i) {
    const DetailField& field = detail_fields[i];
    if (field.type == DetailField::Type::number) {
      statement.bind(facts.details.number(field.name));
    } else if (field.type == DetailField::Type::text) {
      statement.bind(facts.details.text(field.name));
    } else {
      lists[i] = util::json_strings(facts.details.texts(field.name));
      statement.bind(lists[i]);
    }
  }
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
  if (*check != "ok") return sql_fail(SqlFailure::damaged, *check);
  const auto whole = has_compilers(database);
  if (!whole) return propagate(whole);
  auto statement = database.prepare(select_rows(*whole).c_str());
  if (!statement) return propagate(statement);
  Index::Rows rows;
  Checker checker;
  while (true) {
    const auto row = statement->step();
    if (!row) return propagate(row);
    if (!*row) break;
    const auto key = Key::from_hex(statement->text(0));
    if (!key) return sql_fail(SqlFailure::damaged, "a row's key is not a key");
    const std::size_t before = rows.size();
    const auto placed = rows.try_emplace(rows.end(), *key, read_row(*statement, *key));
    if (rows.size() == before) return sql_fail(SqlFailure::damaged, "a key has two rows");
    checker.add({&placed->second, statement->text(digest_column)});
  }
  checker.finish();
  return rows;
}

SqlExpected<void> put_rows(Database& database, const std::vector<Entry>& entries) {
  auto insert = database.prepare(put_row().c_str());
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
    if (auto done = update->bind(std::max(now, first_moment)).bind(hex).run(); !done) return propagate(done);
    if (database.changes() == 0) without_row.push_back(key);
  }
  return without_row;
}

}  // namespace cubinet::cache
