// The part of SQLite that the index needs, with outcomes as values. sqlite.cpp is the only file that includes
// sqlite3.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "util/expected.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace cubinet::cache {

// What an error means for the index.
enum class SqlFailure {
  damaged,   // the file is not a sound database of our schema: replace it
  moved,     // the file was replaced under an open connection: connect again
  absent,    // there is no file, and none was to be created
  busy,      // another connection held the file for the whole waiting time
  newer,     // a newer build has written the file: do not change it
  no_locks,  // its file system has no locks, so that two writers would corrupt it: do not use it
  other,     // the disk is full, an I/O error, out of memory
};

struct SqlError {
  SqlFailure failure = SqlFailure::other;
  std::string message;
};

template <class T>
using SqlExpected = tl::expected<T, SqlError>;

// The failing branch, as fail() is for an Error: `return sql_fail(SqlFailure::damaged, "a key has two rows");`.
inline tl::unexpected<SqlError> sql_fail(SqlError error) { return tl::unexpected<SqlError>(std::move(error)); }
inline tl::unexpected<SqlError> sql_fail(SqlFailure failure, std::string message) {
  return sql_fail(SqlError{failure, std::move(message)});
}

// Lets one thread of the process at a time use SQLite, and makes a fork wait until no thread does: a child that
// inherited a connection, or SQLite's own locks in the middle of a call, could neither use nor close it. Hold the
// result for as long as a connection is open.
[[nodiscard]] std::unique_lock<std::mutex> enter_sqlite();

// A prepared statement. Bound texts must live until the step. An error of bind() is returned by step().
class Statement {
 public:
  // Binds the next parameter.
  Statement& bind(std::string_view text);
  Statement& bind(std::int64_t number);
  Statement& bind(double number);
  // True: there is a row to read. False: done.
  SqlExpected<bool> step();
  // One step of a statement whose rows are not read.
  SqlExpected<void> run();
  // Makes the statement ready to be bound from the first parameter and stepped again.
  void reset();

  // Columns of the current row, in any order. A value of another type is converted as SQLite does it.
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;
  // An integer that counts something. A value below 0 or above 2^40 is corruption and read as 0, so that a sum over
  // many rows fits 64 bits.
  [[nodiscard]] std::int64_t count(int column) const;

 private:
  friend class Database;
  struct Close {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Close> handle_;
  int next_ = 1;
  int error_ = 0;
};

// A connection.
class Database {
 public:
  enum class Mode { read_only, read_write };

  // Opens an existing file without reading it yet. Each statement waits for other connections up to `patience`.
  // Functions in the file's triggers and views are not executed unless SQLite knows them to be harmless.
  static SqlExpected<Database> open(const std::filesystem::path& path, Mode mode, std::chrono::milliseconds patience);

  // Runs statements whose rows are not read.
  SqlExpected<void> run(const char* sql);
  // Return the first column of the first row of `sql`; 0 or empty when there is no row.
  SqlExpected<std::int64_t> integer(const char* sql);
  SqlExpected<std::string> text(const char* sql);
  SqlExpected<Statement> prepare(const char* sql);
  // Number of rows that the last INSERT, UPDATE or DELETE changed.
  [[nodiscard]] std::int64_t changes() const;
  // Whether the file can be read but not written; SQLite opens such a file for reading whatever the mode.
  [[nodiscard]] bool is_read_only() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Close> handle_;
};

// BEGIN IMMEDIATE; rolled back by the destructor unless committed. The database must outlive it.
class Transaction {
 public:
  static SqlExpected<Transaction> begin(Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  SqlExpected<void> commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace cubinet::cache
