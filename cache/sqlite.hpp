// SQLite as far as the index needs it, with outcomes as values. sqlite.cpp is the one place that includes sqlite3.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

#include "util/expected.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace cubinet::cache {

enum class SqlFailure {
  damaged,   // the file is not a sound database of our schema: replace it
  moved,     // the file was replaced under an open connection: connect again
  absent,    // there is no file, and none was to be made
  busy,      // somebody else held it for all of the patience
  newer,     // a newer build has written it: leave it alone
  no_locks,  // its file system keeps no locks: two writers at once would spoil it, so it is not used
  other,     // the disk is full, an I/O error, no memory
};

struct SqlError {
  SqlFailure failure = SqlFailure::other;
  std::string message;
};

template <class T>
using SqlExpected = tl::expected<T, SqlError>;

inline auto damaged(std::string message) {
  return tl::make_unexpected(SqlError{SqlFailure::damaged, std::move(message)});
}

// A prepared statement. Texts that are bound must live until the step. Errors of binding come out of step().
class Statement {
 public:
  Statement& bind(std::string_view text);
  Statement& bind(std::int64_t number);
  Statement& bind(double number);
  // True: there is a row to read. False: done.
  SqlExpected<bool> step();
  // A step of a statement whose rows do not matter.
  SqlExpected<void> run();
  // Makes it ready to be bound from the first parameter and stepped again.
  void reset();

  // Columns of the present row, in any order. Another type than asked for is converted as SQLite does it.
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;
  // An integer that counts something. One that nobody can have counted is noise, and 0: a sum over many stays within 64
  // bits.
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

// A connection. Opening reads nothing of the file yet.
class Database {
 public:
  enum class Mode { read_only, read_write };

  // The file must be there. Waits for other connections up to `patience` in each statement.
  // The schema in the file is not trusted with anything.
  static SqlExpected<Database> open(const std::filesystem::path& path, Mode mode, std::chrono::milliseconds patience);

  // Runs statements whose rows do not matter.
  SqlExpected<void> run(const char* sql);
  // The first column of the first row of `sql`.
  SqlExpected<std::int64_t> integer(const char* sql);
  SqlExpected<std::string> text(const char* sql);
  SqlExpected<Statement> prepare(const char* sql);
  // Rows that the last INSERT, UPDATE or DELETE changed.
  [[nodiscard]] std::int64_t changes() const;
  // The file can be read and not written: so SQLite opens one then, whatever the mode.
  [[nodiscard]] bool is_read_only() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Close> handle_;
};

// BEGIN IMMEDIATE, rolled back on destruction unless committed. The database must outlive it.
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
