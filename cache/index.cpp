#include "cache/index.hpp"

#include <fcntl.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <type_traits>

#include <fmt/format.h>

#include "cache/index_tables.hpp"
#include "cache/quarantine.hpp"
#include "util/file_lock.hpp"
#include "util/files.hpp"

namespace cubinet::cache {
namespace {

namespace fs = std::filesystem;

constexpr const char* set_version = "PRAGMA user_version = 4";
static_assert(index_schema_version == 4);
// The oldest version whose rows this build reads, and the versions that added tables.
constexpr std::int64_t oldest_version = 2;
constexpr std::int64_t coverage_version = 3;
constexpr std::int64_t counters_version = 4;

// A greater number is corruption, not a version.
constexpr std::int64_t greatest_version = 1000;

bool is_newer(std::int64_t version) { return version > index_schema_version && version <= greatest_version; }

tl::unexpected<SqlError> unknown_version(std::int64_t version) {
  if (!is_newer(version)) return sql_fail(SqlFailure::damaged, fmt::format("schema version {} is not known", version));
  return sql_fail(SqlFailure::newer,
                  fmt::format("written by a newer Cubinet (schema version {}, this build knows {}); it is left alone",
                              version, index_schema_version));
}

bool is_known(std::int64_t version) { return version >= oldest_version && version <= index_schema_version; }

// Creates the tables in an empty database, and the missing ones in a database of an earlier version. Check and creation
// are one transaction, so that of several processes one creates them.
SqlExpected<void> make_schema(Database& database) {
  auto transaction = Transaction::begin(database);
  if (!transaction) return propagate(transaction);
  const auto version = database.integer("PRAGMA user_version");
  if (!version) return propagate(version);
  const auto tables = database.integer("SELECT count(*) FROM sqlite_master");
  if (!tables) return propagate(tables);
  const bool fresh = *version == 0 && *tables == 0;
  if (!fresh && !is_known(*version)) return unknown_version(*version);
  std::vector<const char*> statements;
  if (fresh) statements.push_back(entries_schema);
  if (*version < coverage_version) statements.push_back(coverage_schema);
  if (*version < counters_version) statements.push_back(counters_schema);
  if (*version < index_schema_version) statements.push_back(set_version);
  const auto whole = fresh ? false : has_compilers(database);
  if (!whole) return propagate(whole);
  if (!*whole) statements.push_back(compilers_schema);
  for (const char* statement : statements) {
    if (auto made = database.run(statement); !made) return made;
  }
  return transaction->commit();
}

// Creates the file through our system calls, which may give it to another user; SQLite would create it without them. It
// gives its journal to the file's owner itself.
void make_file(const Layout& layout, util::SystemCalls& calls) {
  constexpr int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  const util::File made(calls.open(layout.index().native(), flags, 0644), calls);
}

SqlExpected<Database> connect(const Layout& layout, std::chrono::milliseconds patience, util::SystemCalls& calls) {
  // SQLite would follow a link, and would ignore a journal that it cannot open.
  for (const auto& path : {layout.index(), layout.index_journal()}) {
    std::error_code error;
    const auto status = fs::symlink_status(path, error);
    if (fs::exists(status) && !fs::is_regular_file(status))
      return sql_fail(SqlFailure::damaged, "it is not a regular file");
  }
  std::error_code error;
  if (!fs::exists(layout.index(), error)) {
    if (!is_there(layout.format())) {
      return sql_fail(SqlFailure::other, "the cabinet was removed meanwhile");
    }
    make_file(layout, calls);
  }
  auto database = Database::open(layout.index(), Database::Mode::read_write, patience);
  if (!database) return database;
  // Checked before anything is written.
  const auto version = database->integer("PRAGMA user_version");
  if (!version) return propagate(version);
  if (is_newer(*version)) return unknown_version(*version);
  // For a new file: a row has some 2 KB, and with the usual pages of 4 KB the file would be twice as large.
  for (const char* setting :
       {"PRAGMA page_size = 16384", "PRAGMA journal_mode = TRUNCATE", "PRAGMA synchronous = FULL"}) {
    if (auto set = database->run(setting); !set) return propagate(set);
  }
  if (*version == index_schema_version) {
    const auto whole = has_compilers(*database);
    if (!whole) return propagate(whole);
    if (*whole) return database;
  }
  if (auto made = make_schema(*database); !made) return propagate(made);
  return database;
}

// Checks whether a file that was found damaged still is, and whether it can be written.
SqlExpected<void> probe(const Layout& layout, std::chrono::milliseconds patience, util::SystemCalls& calls) {
  auto database = connect(layout, patience, calls);
  if (!database) return propagate(database);
  if (const auto rows = read_rows(*database); !rows) return propagate(rows);
  if (const auto coverage = read_coverage(*database); !coverage) return propagate(coverage);
  if (const auto counters = read_counters(*database); !counters) return propagate(counters);
  const auto transaction = Transaction::begin(*database);
  if (!transaction) return propagate(transaction);
  return {};
}

}  // namespace

// Connects and calls `work`. When the file turns out to be damaged, replaces it by an empty one and tries once more.
// Only one thread of the process executes this at a time.
template <class Work>
auto Index::with_database(Work work) const -> decltype(work(std::declval<Database&>())) {
  const auto attempt = [&]() -> decltype(work(std::declval<Database&>())) {
    if (auto usable = check_locks(); !usable) return propagate(usable);
    auto database = connect(layout_, patience(), calls_);
    if (!database) return propagate(database);
    return work(*database);
  };
  const auto gate = enter_sqlite();
  auto outcome = noted(attempt());
  if (outcome) return outcome;
  if (outcome.error().failure == SqlFailure::moved) return noted(attempt());
  if (outcome.error().failure != SqlFailure::damaged) return outcome;
  if (auto replaced = noted(replace_damaged()); !replaced) return propagate(replaced);
  return noted(attempt());
}

// SQLite takes a refused lock for one that another process holds, and would wait. This tries to lock FORMAT instead of
// the index: opening and closing the index's own file would release the locks of a connection.
SqlExpected<void> Index::check_locks() const {
  if (locks_ == Locks::unknown) {
    const util::File file(calls_.open(layout_.format().native(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0), calls_);
    if (!file) return {};
    const bool refused =
        calls_.try_record_lock(file.get()) != 0 && (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP);
    locks_ = refused ? Locks::none : Locks::kept;
  }
  if (locks_ == Locks::kept) return {};
  return sql_fail(SqlFailure::no_locks, "not used, since its file system has no locks");
}

SqlExpected<void> Index::replace_damaged() const {
  const auto other = [](const Error& error) { return sql_fail(SqlFailure::other, error.message); };
  const auto lock = util::FileLock::acquire(layout_.locks() / "index", patience(), calls_);
  if (!lock) return other(lock.error());
  if (!*lock) return sql_fail(SqlFailure::busy, "another process is replacing it");
  const auto sound = probe(layout_, patience(), calls_);
  if (!sound && sound.error().failure == SqlFailure::busy) return sound;
  if (sound || sound.error().failure != SqlFailure::damaged) return {};
  // The journal is moved first: SQLite would apply it to the new file. Both may be of any type, or be gone.
  for (const auto& path : {layout_.index_journal(), layout_.index()}) {
    if (!is_there(path)) continue;
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
                      ? fmt::format("the index {} is busy: another process has held it for more than {} ms ({})",
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
  if (!rows) return sql_fail(described(rows.error()));
  return rows;
}

// Opens an existing file for reading and calls `work`, if the file is of this version or an earlier one.
template <class Work>
auto Index::with_database_unchanged(Work work) const -> decltype(work(std::declval<Database&>())) {
  const auto gate = enter_sqlite();
  // Without locks there is no file either; the reason to report is the locks.
  if (auto usable = check_locks(); !usable) return propagate(usable);
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(layout_.index(), error))) {
    return sql_fail(SqlFailure::absent, "there is no such file");
  }
  auto database = Database::open(layout_.index(), Database::Mode::read_only, patience());
  if (!database) return propagate(database);
  const auto version = noted(database->integer("PRAGMA user_version"));
  if (!version) return propagate(version);
  if (*version == 0 && fs::file_size(layout_.index(), error) == 0) {  // its creator was killed, or the disk was full
    return sql_fail(SqlFailure::absent, "nothing is written in it yet");
  }
  if (!is_known(*version)) return unknown_version(*version);
  return noted(work(*database));
}

Index::Outcome Index::rows_unchanged() const {
  auto rows = with_database_unchanged(read_rows);
  if (!rows) return sql_fail(described(rows.error()));
  return rows;
}

// Calls `work` in one transaction, which is rolled back when it fails.
template <class Work>
auto Index::change(Work work) const -> decltype(work(std::declval<Database&>())) {
  return with_database([&](Database& database) -> decltype(work(database)) {
    auto transaction = Transaction::begin(database);
    if (!transaction) return propagate(transaction);
    auto outcome = work(database);
    if (!outcome) return outcome;
    if (auto done = transaction->commit(); !done) return propagate(done);
    return outcome;
  });
}

Expected<Totals> Index::apply(const IndexChange& wanted) const {
  return translate(change([&](Database& database) -> SqlExpected<Totals> {
    const auto forgotten = forget_evicted(database, wanted.missed);
    if (!forgotten) return propagate(forgotten);
    Counters counted = wanted.counted;
    counted.evicted_misses += *forgotten;
    if (auto done = put_rows(database, wanted.put); !done) return propagate(done);
    if (auto done = set_used(database, wanted.ahead, wanted.now); !done) return propagate(done);
    for (const auto* keys : {&wanted.drop, &wanted.evicted}) {
      if (auto done = drop_rows(database, *keys); !done) return propagate(done);
    }
    if (!wanted.evicted.empty()) {
      if (auto done = remember_evicted(database, wanted.evicted); !done) return propagate(done);
      if (auto done = drop_coverage_of(database, wanted.evicted); !done) return propagate(done);
    }
    if (auto done = add_counters(database, counted); !done) return propagate(done);
    return read_totals(database);
  }));
}

Expected<void> Index::distrust(const Key& key) const {
  return translate(change([&](Database& database) { return distrust_row(database, key); }));
}

Expected<void> Index::recount() const {
  return translate(change([](Database& database) { return cache::recount(database); }));
}

Expected<std::vector<Key>> Index::add_hits(const std::vector<Key>& keys, std::int64_t now,
                                           const Counters& counted) const {
  return translate(change([&](Database& database) -> SqlExpected<std::vector<Key>> {
    if (auto done = add_counters(database, counted); !done) return propagate(done);
    return cache::add_hits(database, keys, now);
  }));
}

Expected<bool> Index::erase(const Key& key) const {
  return translate(change([&](Database& database) -> SqlExpected<bool> {
    const auto dropped = drop_rows(database, {key});
    if (!dropped) return propagate(dropped);
    return *dropped > 0;
  }));
}

Expected<std::vector<Coverage>> Index::coverage() const { return translate(with_database(read_coverage)); }

// Reads data that files have since version `first`; returns T() if the file is older or missing.
template <class T>
Expected<T> Index::read_since(std::int64_t first, SqlExpected<T> (*read)(Database&)) const {
  auto found = with_database_unchanged([&](Database& database) -> SqlExpected<T> {
    const auto version = database.integer("PRAGMA user_version");
    if (!version) return propagate(version);
    return *version >= first ? read(database) : T();
  });
  if (!found && found.error().failure == SqlFailure::absent) return T();
  return translate(std::move(found));
}

Expected<std::vector<Coverage>> Index::coverage_unchanged() const {
  return read_since(coverage_version, read_coverage);
}

Expected<Counters> Index::counters() const { return translate(with_database(read_counters)); }

Expected<Counters> Index::counters_unchanged() const { return read_since(counters_version, read_counters); }

Expected<std::vector<Key>> Index::evicted_unchanged() const { return read_since(counters_version, read_evicted); }

Expected<void> Index::put_coverage(const Coverage& coverage) const {
  return translate(change([&](Database& database) { return cache::put_coverage(database, coverage); }));
}

Expected<void> Index::drop_coverage(const std::vector<Coverage>& coverages) const {
  return translate(change([&](Database& database) { return cache::drop_coverage(database, coverages); }));
}

}  // namespace cubinet::cache
