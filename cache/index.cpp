#include "cache/index.hpp"

#include <fcntl.h>

#include <string>
#include <system_error>
#include <type_traits>

#include <fmt/format.h>

#include "cache/coverage_table.hpp"
#include "cache/facts_json.hpp"
#include "cache/index_gate.hpp"
#include "cache/quarantine.hpp"
#include "util/digest.hpp"
#include "util/file_lock.hpp"
#include "util/files.hpp"

namespace cubinet::cache {
namespace {

namespace fs = std::filesystem;

// WITHOUT ROWID: the table is one tree, so that there is no second one that could disagree with it.
constexpr const char* schema = R"(
CREATE TABLE entries (
  key TEXT PRIMARY KEY, bytes INTEGER NOT NULL, family TEXT NOT NULL, arch TEXT NOT NULL, n INTEGER NOT NULL,
  k INTEGER NOT NULL, config TEXT NOT NULL, registers INTEGER NOT NULL, spill_bytes INTEGER NOT NULL,
  smem_bytes INTEGER NOT NULL, compile_ms REAL NOT NULL, created INTEGER NOT NULL, kernel_names TEXT NOT NULL,
  record TEXT NOT NULL, row_digest TEXT NOT NULL, last_used INTEGER NOT NULL DEFAULT 0, hits INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
)";
constexpr const char* set_version = "PRAGMA user_version = 3";
static_assert(index_schema_version == 3);
// The version before, which had no coverage and is the same in all else.
constexpr std::int64_t version_without_coverage = 2;

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

auto damaged(std::string message) { return tl::make_unexpected(SqlError{SqlFailure::damaged, std::move(message)}); }

// Noise in the middle of a page can leave a sound tree with other texts in it; this tells.
std::string row_digest(const Entry& entry) {
  const auto facts = facts_to_json(entry.facts);
  if (!facts) return {};
  return util::sha256_hex(fmt::format("{}\n{}\n{}\n{}", entry.key.hex(), entry.bytes, *facts, entry.record));
}

std::int32_t narrow(std::int64_t value) { return static_cast<std::int32_t>(value); }

// The digest of a row does not cover the columns that change with use. What cannot have been written by us there is
// noise and counts as 0: a sum over many rows then stays within 64 bits.
std::int64_t count(std::int64_t value) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  return value < 0 || value > most ? 0 : value;
}

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
  if (out.sound) out.sound = row.text(13) == row_digest(entry);
  return out;
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
  const auto done = statement.step();
  if (!done) return tl::make_unexpected(done.error());
  return {};
}

SqlExpected<Index::Rows> read_rows(Database& database) {
  auto check = database.text("PRAGMA quick_check(1)");
  if (!check) return tl::make_unexpected(check.error());
  if (*check != "ok") return damaged(*check);
  auto statement = database.prepare(select_rows);
  if (!statement) return tl::make_unexpected(statement.error());
  Index::Rows rows;
  while (true) {
    const auto row = statement->step();
    if (!row) return tl::make_unexpected(row.error());
    if (!*row) return rows;
    const auto key = Key::from_hex(statement->text(0));
    if (!key) return damaged("a row's key is not a key");
    rows.insert_or_assign(*key, read_row(*statement, *key));
  }
}

bool is_version(const SqlExpected<std::int64_t>& version) { return version && *version == index_schema_version; }

// Makes the tables in a database that has nothing in it, and what the version before did not have in one of its own.
// The look and the making are one transaction, so that of several processes one makes them.
SqlExpected<void> make_schema(Database& database) {
  auto transaction = Transaction::begin(database);
  if (!transaction) return tl::make_unexpected(transaction.error());
  const auto version = database.integer("PRAGMA user_version");
  if (!version) return tl::make_unexpected(version.error());
  if (is_version(version)) return {};
  const auto tables = database.integer("SELECT count(*) FROM sqlite_master");
  if (!tables) return tl::make_unexpected(tables.error());
  if (*version != version_without_coverage) {
    if (*version != 0 || *tables != 0) return damaged(fmt::format("schema version {} is not known", *version));
    if (auto made = database.run(schema); !made) return made;
  }
  for (const char* statement : {coverage_schema, set_version}) {
    if (auto made = database.run(statement); !made) return made;
  }
  return transaction->commit();
}

// SQLite would make the file, too, but not through the seam, which may give it to another user. The journal goes to
// whom the file belongs: SQLite sees to that.
void make_file(const Layout& layout, util::SystemCalls& calls) {
  constexpr int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  const util::File made(calls.open(layout.index().native(), flags, 0644), calls);
}

SqlExpected<Database> connect(const Layout& layout, std::chrono::milliseconds patience, util::SystemCalls& calls) {
  // SQLite would follow a link, and reads on beside a journal that it cannot open.
  for (const auto& path : {layout.index(), layout.index_journal()}) {
    std::error_code error;
    const auto status = fs::symlink_status(path, error);
    if (fs::exists(status) && !fs::is_regular_file(status)) return damaged("it is not a regular file");
  }
  std::error_code error;
  if (!fs::exists(layout.index(), error)) make_file(layout, calls);
  auto database = Database::open(layout.index(), Database::Mode::read_write, patience);
  if (!database) return database;
  for (const char* setting : {"PRAGMA journal_mode = TRUNCATE", "PRAGMA synchronous = FULL"}) {
    if (auto set = database->run(setting); !set) return tl::make_unexpected(set.error());
  }
  const auto version = database->integer("PRAGMA user_version");
  if (!version) return tl::make_unexpected(version.error());
  if (is_version(version)) return database;
  if (auto made = make_schema(*database); !made) return tl::make_unexpected(made.error());
  return database;
}

// Whether a file that somebody found damaged still is, and can be written.
SqlExpected<void> probe(const Layout& layout, std::chrono::milliseconds patience, util::SystemCalls& calls) {
  auto database = connect(layout, patience, calls);
  if (!database) return tl::make_unexpected(database.error());
  if (const auto rows = read_rows(*database); !rows) return tl::make_unexpected(rows.error());
  if (const auto coverage = read_coverage(*database); !coverage) return tl::make_unexpected(coverage.error());
  const auto transaction = Transaction::begin(*database);
  if (!transaction) return tl::make_unexpected(transaction.error());
  return {};
}

}  // namespace

// Connects and works; starts a new file and does it once more when the file turns out not to be sound. The gate is
// held throughout.
template <class Work>
auto Index::with_database(Work work) const -> decltype(work(std::declval<Database&>())) {
  const auto attempt = [&]() -> decltype(work(std::declval<Database&>())) {
    auto database = connect(layout_, patience(), calls_);
    if (!database) return tl::make_unexpected(database.error());
    return work(*database);
  };
  const auto gate = enter_index();
  auto outcome = noted(attempt());
  if (outcome) return outcome;
  if (outcome.error().failure == SqlFailure::moved) return noted(attempt());
  if (outcome.error().failure != SqlFailure::damaged) return outcome;
  if (auto replaced = noted(replace_damaged()); !replaced) return tl::make_unexpected(replaced.error());
  return noted(attempt());
}

SqlExpected<void> Index::replace_damaged() const {
  const auto other = [](const Error& error) { return tl::make_unexpected(SqlError{SqlFailure::other, error.message}); };
  const auto lock = util::FileLock::acquire(layout_.locks() / "index", patience(), calls_);
  if (!lock) return other(lock.error());
  if (!*lock) return tl::make_unexpected(SqlError{SqlFailure::busy, "another process is replacing it"});
  const auto sound = probe(layout_, patience(), calls_);
  if (!sound && sound.error().failure == SqlFailure::busy) return sound;
  if (sound || sound.error().failure != SqlFailure::damaged) return {};
  // The journal goes first: it would be played into the new file. Both may be any kind of thing, or gone.
  for (const auto& path : {layout_.index_journal(), layout_.index()}) {
    std::error_code error;
    if (!fs::exists(fs::symlink_status(path, error))) continue;
    if (auto moved = set_aside(calls_, layout_, path, path.filename().native()); !moved) return other(moved.error());
  }
  return {};
}

std::chrono::milliseconds Index::patience() const { return waited_in_vain_ ? std::chrono::milliseconds(0) : patience_; }

template <class T>
SqlExpected<T> Index::noted(SqlExpected<T> outcome) const {
  if (!outcome && outcome.error().failure == SqlFailure::busy) waited_in_vain_ = true;
  return outcome;
}

SqlError Index::described(SqlError error) const {
  error.message = error.failure == SqlFailure::busy
                      ? fmt::format("the index {} is busy: another process holds it, and was waited for {} ms ({})",
                                    layout_.index().native(), patience_.count(), error.message)
                      : fmt::format("the index {}: {}", layout_.index().native(), error.message);
  return error;
}

template <class T>
Expected<T> Index::translate(SqlExpected<T> outcome) const {
  if (!outcome) return fail(ErrorCode::io, described(outcome.error()).message);
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return std::move(*outcome);
  }
}

Index::Outcome Index::rows() const {
  auto rows = with_database(read_rows);
  if (!rows) return tl::make_unexpected(described(rows.error()));
  return rows;
}

// Opens what is there for reading and works, if it is of this version or of the one before.
template <class Work>
auto Index::with_database_unchanged(Work work) const -> decltype(work(std::declval<Database&>())) {
  const auto gate = enter_index();
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(layout_.index(), error))) {
    return tl::make_unexpected(SqlError{SqlFailure::absent, "there is no such file"});
  }
  auto database = Database::open(layout_.index(), Database::Mode::read_only, patience());
  if (!database) return tl::make_unexpected(database.error());
  const auto version = noted(database->integer("PRAGMA user_version"));
  if (!version) return tl::make_unexpected(version.error());
  if (!is_version(version) && *version != version_without_coverage) {
    return damaged(fmt::format("schema version {} is not known", *version));
  }
  return noted(work(*database));
}

Index::Outcome Index::rows_unchanged() const {
  auto rows = with_database_unchanged(read_rows);
  if (!rows) return tl::make_unexpected(described(rows.error()));
  return rows;
}

Expected<void> Index::apply(const std::vector<Entry>& entries, const std::vector<Key>& drop) const {
  return translate(with_database([&](Database& database) -> SqlExpected<void> {
    auto transaction = Transaction::begin(database);
    if (!transaction) return tl::make_unexpected(transaction.error());
    auto insert = database.prepare(put_row);
    if (!insert) return tl::make_unexpected(insert.error());
    for (const Entry& entry : entries) {
      if (auto done = put(*insert, entry); !done) return done;
    }
    auto remove = database.prepare("DELETE FROM entries WHERE key = ?");
    if (!remove) return tl::make_unexpected(remove.error());
    for (const Key& key : drop) {
      const std::string hex = key.hex();
      remove->reset();
      if (auto done = remove->bind(hex).step(); !done) return tl::make_unexpected(done.error());
    }
    return transaction->commit();
  }));
}

Expected<std::vector<Key>> Index::add_hits(const std::vector<Key>& keys, std::int64_t now) const {
  return translate(with_database([&](Database& database) -> SqlExpected<std::vector<Key>> {
    std::vector<Key> without_row;
    auto transaction = Transaction::begin(database);
    if (!transaction) return tl::make_unexpected(transaction.error());
    auto update = database.prepare("UPDATE entries SET hits = hits + 1, last_used = ? WHERE key = ?");
    if (!update) return tl::make_unexpected(update.error());
    for (const Key& key : keys) {
      const std::string hex = key.hex();
      update->reset();
      if (auto done = update->bind(now).bind(hex).step(); !done) return tl::make_unexpected(done.error());
      if (database.changes() == 0) without_row.push_back(key);
    }
    if (auto done = transaction->commit(); !done) return tl::make_unexpected(done.error());
    return without_row;
  }));
}

Expected<bool> Index::erase(const Key& key) const {
  return translate(with_database([&](Database& database) -> SqlExpected<bool> {
    auto statement = database.prepare("DELETE FROM entries WHERE key = ?");
    if (!statement) return tl::make_unexpected(statement.error());
    const std::string hex = key.hex();
    if (auto done = statement->bind(hex).step(); !done) return tl::make_unexpected(done.error());
    return database.changes() > 0;
  }));
}

Expected<std::vector<Coverage>> Index::coverage() const { return translate(with_database(read_coverage)); }

Expected<std::vector<Coverage>> Index::coverage_unchanged() const {
  return translate(with_database_unchanged([](Database& database) -> SqlExpected<std::vector<Coverage>> {
    const auto version = database.integer("PRAGMA user_version");
    if (!version) return tl::make_unexpected(version.error());
    return is_version(version) ? read_coverage(database) : std::vector<Coverage>();
  }));
}

Expected<void> Index::put_coverage(const Coverage& coverage) const {
  return translate(with_database([&](Database& database) { return cache::put_coverage(database, coverage); }));
}

Expected<void> Index::drop_coverage(const std::vector<Coverage>& coverages) const {
  return translate(with_database([&](Database& database) { return cache::drop_coverage(database, coverages); }));
}

}  // namespace cubinet::cache
