#include "cache/index_tables.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "cache/flat_json.hpp"
#include "util/digest.hpp"
#include "util/json_text.hpp"

namespace cubinet::cache {
namespace {

std::string keys_to_json(const std::vector<Key>& keys) {
  std::vector<std::string> texts;
  texts.reserve(keys.size());
  for (const Key& key : keys) texts.push_back(key.hex());
  return util::json_strings(texts);
}

std::optional<std::vector<Key>> keys_from_json(std::string_view json) {
  const auto texts = read_texts(json);
  if (!texts) return std::nullopt;
  std::vector<Key> keys;
  keys.reserve(texts->size());
  for (const std::string& text : *texts) {
    const auto key = Key::from_hex(text);
    if (!key) return std::nullopt;
    keys.push_back(*key);
  }
  return keys;
}

// The digest detects corruption inside a page, which can leave the tree sound but change its values.
std::string digest_of(std::string_view subject, std::string_view keys, std::int64_t recorded) {
  return util::sha256_hex(fmt::format("{}\n{}\n{}", subject, keys, recorded));
}

// nullopt unless the row's digest matches.
std::optional<Coverage> read_row(const Statement& row) {
  const std::string keys = row.text(1);
  Coverage coverage{row.text(0), {}, row.integer(2)};
  if (row.text(3) != digest_of(coverage.subject, keys, coverage.recorded)) return std::nullopt;
  auto parsed = keys_from_json(keys);
  if (!parsed) return std::nullopt;
  coverage.keys = std::move(*parsed);
  return coverage;
}

SqlExpected<void> insert(Database& database, const Coverage& coverage) {
  auto statement =
      database.prepare("INSERT OR REPLACE INTO coverage (id, subject, keys, recorded, digest) VALUES (?,?,?,?,?)");
  if (!statement) return propagate(statement);
  const std::string id = util::sha256_hex(coverage.subject);
  const std::string keys = keys_to_json(coverage.keys);
  const std::string digest = digest_of(coverage.subject, keys, coverage.recorded);
  statement->bind(id).bind(coverage.subject).bind(keys).bind(coverage.recorded).bind(digest);
  return statement->run();
}

// Records with a time after `now` are deleted first: a wrong clock would otherwise keep them for ever.
SqlExpected<void> drop_oldest(Database& database, std::int64_t now) {
  auto statement = database.prepare(
      "DELETE FROM coverage WHERE id NOT IN "
      "(SELECT id FROM coverage ORDER BY recorded > ?, recorded DESC, id LIMIT ?)");
  if (!statement) return propagate(statement);
  return statement->bind(now).bind(max_coverages).run();
}

}  // namespace

SqlExpected<std::vector<Coverage>> read_coverage(Database& database) {
  auto statement = database.prepare("SELECT subject, keys, recorded, digest FROM coverage ORDER BY recorded DESC, id");
  if (!statement) return propagate(statement);
  std::vector<Coverage> coverages;
  while (true) {
    const auto row = statement->step();
    if (!row) return propagate(row);
    if (!*row) return coverages;
    if (auto coverage = read_row(*statement)) coverages.push_back(std::move(*coverage));
  }
}

SqlExpected<void> put_coverage(Database& database, const Coverage& coverage) {
  if (auto inserted = insert(database, coverage); !inserted) return inserted;
  return drop_oldest(database, coverage.recorded);
}

SqlExpected<void> drop_coverage(Database& database, const std::vector<Coverage>& coverages) {
  auto statement = database.prepare("DELETE FROM coverage WHERE digest = ?");
  if (!statement) return propagate(statement);
  for (const Coverage& coverage : coverages) {
    const std::string digest = digest_of(coverage.subject, keys_to_json(coverage.keys), coverage.recorded);
    statement->reset();
    if (auto dropped = statement->bind(digest).run(); !dropped) return dropped;
  }
  return {};
}

SqlExpected<void> drop_coverage_of(Database& database, const std::vector<Key>& keys) {
  auto coverages = read_coverage(database);
  if (!coverages) return propagate(coverages);
  const std::set<Key> gone(keys.begin(), keys.end());
  std::erase_if(*coverages, [&](const Coverage& one) {
    return std::none_of(one.keys.begin(), one.keys.end(), [&](const Key& key) { return gone.contains(key); });
  });
  return drop_coverage(database, *coverages);
}

}  // namespace cubinet::cache
