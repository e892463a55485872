#include "cache/sqlite.hpp"

#include <pthread.h>
#include <sqlite3.h>

namespace cubinet::cache {
namespace {

// The low byte of an extended code is the primary one.
int primary(int code) { return code & 0xff; }

SqlFailure classify(int code) {
  if (code == SQLITE_READONLY_DBMOVED) return SqlFailure::moved;
  switch (primary(code)) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return SqlFailure::busy;
    // SQLITE_ERROR is the result of a statement on a schema other than ours. A file that cannot be opened or written
    // although the root can is replaced, too.
    case SQLITE_ERROR:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_SCHEMA:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
      return SqlFailure::damaged;
    default:
      return SqlFailure::other;
  }
}

tl::unexpected<SqlError> fail_with(int code, sqlite3* database) {
  return sql_fail(classify(code), database == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(database));
}

// Never destroyed: a thread may still hold it while the process exits.
std::mutex& gate() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

void close_gate() { gate().lock(); }
void open_gate() { gate().unlock(); }

}  // namespace

std::unique_lock<std::mutex> enter_sqlite() {
  static std::once_flag once;
  // Without the handlers (out of memory) only a fork in the middle of another thread's index call fails to work.
  std::call_once(once, [] { static_cast<void>(::pthread_atfork(close_gate, open_gate, open_gate)); });
  return std::unique_lock(gate());
}

void Statement::Close::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void Database::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

Statement& Statement::bind(std::string_view text) {
  const int code = sqlite3_bind_text64(handle_.get(), next_++, text.data() == nullptr ? "" : text.data(), text.size(),
                                       SQLITE_STATIC, SQLITE_UTF8);
  if (code != SQLITE_OK) error_ = code;
  return *this;
}

Statement& Statement::bind(std::int64_t number) {
  const int code = sqlite3_bind_int64(handle_.get(), next_++, number);
  if (code != SQLITE_OK) error_ = code;
  return *this;
}

Statement& Statement::bind(double number) {
  const int code = sqlite3_bind_double(handle_.get(), next_++, number);
  if (code != SQLITE_OK) error_ = code;
  return *this;
}

SqlExpected<bool> Statement::step() {
  sqlite3* database = sqlite3_db_handle(handle_.get());
  if (error_ != SQLITE_OK) return fail_with(error_, nullptr);
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return fail_with(sqlite3_extended_errcode(database), database);
}

SqlExpected<void> Statement::run() {
  const auto stepped = step();
  if (!stepped) return propagate(stepped);
  return {};
}

void Statement::reset() {
  sqlite3_reset(handle_.get());
  next_ = 1;
  error_ = SQLITE_OK;
}

std::string Statement::text(int column) const {
  const auto* bytes = sqlite3_column_text(handle_.get(), column);
  const int size = sqlite3_column_bytes(handle_.get(), column);
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }
double Statement::real(int column) const { return sqlite3_column_double(handle_.get(), column); }

std::int64_t Statement::count(int column) const {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  const std::int64_t value = integer(column);
  return value < 0 || value > most ? 0 : value;
}

SqlExpected<Database> Database::open(const std::filesystem::path& path, Mode mode, std::chrono::milliseconds patience) {
  const int flags = mode == Mode::read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  sqlite3* raw = nullptr;
  // SQLite must not follow a link in the path either: see util::SystemCalls.
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE, nullptr);
  Database database;
  database.handle_.reset(raw);
  if (code != SQLITE_OK) return fail_with(code, raw);
  sqlite3_busy_timeout(raw, static_cast<int>(patience.count()));
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  return database;
}

SqlExpected<void> Database::run(const char* sql) {
  if (sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return fail_with(sqlite3_extended_errcode(handle_.get()), handle_.get());
}

SqlExpected<Statement> Database::prepare(const char* sql) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v2(handle_.get(), sql, -1, &raw, nullptr);
  Statement statement;
  statement.handle_.reset(raw);
  if (code != SQLITE_OK) return fail_with(code, handle_.get());
  return statement;
}

SqlExpected<std::int64_t> Database::integer(const char* sql) {
  auto statement = prepare(sql);
  if (!statement) return propagate(statement);
  const auto row = statement->step();
  if (!row) return propagate(row);
  return *row ? statement->integer(0) : 0;
}

SqlExpected<std::string> Database::text(const char* sql) {
  auto statement = prepare(sql);
  if (!statement) return propagate(statement);
  const auto row = statement->step();
  if (!row) return propagate(row);
  return *row ? statement->text(0) : std::string();
}

bool Database::is_read_only() const { return sqlite3_db_readonly(handle_.get(), "main") == 1; }

std::int64_t Database::changes() const { return sqlite3_changes64(handle_.get()); }

SqlExpected<Transaction> Transaction::begin(Database& database) {
  // SQLite would begin a read transaction without an error.
  if (database.is_read_only()) return sql_fail(SqlFailure::damaged, "it cannot be written");
  if (auto begun = database.run("BEGIN IMMEDIATE"); !begun) return propagate(begun);
  return Transaction(database);
}

Transaction::~Transaction() {
  // Fails only when SQLite has rolled back already.
  if (database_ != nullptr) static_cast<void>(database_->run("ROLLBACK"));
}

SqlExpected<void> Transaction::commit() {
  auto committed = database_->run("COMMIT");
  if (committed) database_ = nullptr;
  return committed;
}

}  // namespace cubinet::cache
