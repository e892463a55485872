// Builds of different versions on one root: neither discards what the other wrote.
#include "catch.hpp"
#include "unit/cache/set_clock.hpp"
#include "unit/cache/support.hpp"

using namespace cubinet;
using cache::Cabinet;
using test::number;
using test::sql;
namespace fs = std::filesystem;

namespace {

// SQL statements of earlier builds, which write schema version 4 without the columns `compiler` and `digest`.
constexpr const char* early_select =
    "SELECT count(*) FROM (SELECT key, bytes, family, arch, n, k, registers, spill_bytes, smem_bytes, compile_ms, "
    "created, kernel_names, record, row_digest, last_used, hits, config FROM entries)";

// Writes the row of entry 0 as those builds do: without these columns, and with the digest that they compare.
std::string early_put(const cache::Layout& layout) {
  const auto object = test::object_of(0);
  const std::string facts =
      R"({"arch":"sm_90a","compile_ms":214.125,"config":"t64x128u8s6c1b8","created":1764000000,)"
      R"("family":"bf16_grouped_masked","k":7168,"kernel_names":["kernel_a","kernel_b"],"n":4096,"registers":168,)"
      R"("smem_bytes":232448,"spill_bytes":24})";
  const std::string key = test::key_of(0).hex();
  const std::string bytes = std::to_string(fs::file_size(layout.object(test::key_of(0))));
  const std::string digest = util::sha256_hex(key + "\n" + bytes + "\n" + facts + "\n" + object.record);
  return "INSERT INTO entries (key, bytes, family, arch, n, k, registers, spill_bytes, smem_bytes, compile_ms, "
         "created, "
         "kernel_names, record, row_digest, last_used, hits, config) VALUES ('" +
         key + "'," + bytes +
         ",'bf16_grouped_masked','sm_90a',4096,7168,168,24,232448,214.125,1764000000,'[\"kernel_a\",\"kernel_b\"]','" +
         object.record + "','" + digest +
         "',7,3,'t64x128u8s6c1b8') ON CONFLICT (key) DO UPDATE SET row_digest=excluded.row_digest";
}

std::string text(const cache::Layout& layout, const char* query) {
  return test::open_index(layout).text(query).value();
}

}  // namespace

TEST_CASE("an index stays at version 4 and keeps the columns that builds without `compiler` read and write") {
  test::Filled root(2);
  root.cabinet.record_hits({test::key_of(0)});
  CHECK(number(root.layout, "PRAGMA user_version") == 4);
  CHECK(number(root.layout, early_select) == 2);
  const std::string written = text(root.layout, "SELECT row_digest FROM entries WHERE n = 4096");
  sql(root.layout, early_put(root.layout));
  CHECK(text(root.layout, "SELECT row_digest FROM entries WHERE n = 4096") == written);
  CHECK(test::entries_of(root.cabinet)->size() == 2);
  CHECK(root.maintenance().stats()->counters.hits == 1);
  CHECK(fs::is_empty(root.layout.quarantine()));
}

TEST_CASE("a row that an earlier build wrote is rebuilt from its object, and keeps its hits and last use") {
  test::Filled root(1);
  sql(root.layout, "DELETE FROM entries");
  sql(root.layout, early_put(root.layout));
  const auto entry = test::entries_of(root.cabinet)->front();
  CHECK(entry.facts.compiler == "NVRTC 13.0.88");
  CHECK(entry.hits == 3);
  CHECK(entry.last_used == 7);
  CHECK(number(root.layout, "SELECT count(*) FROM entries WHERE compiler = 'NVRTC 13.0.88'") == 1);
  CHECK(root.maintenance().verify(false)->orphans == 0);
}

TEST_CASE("an index of version 4 without the later columns gets them in place and keeps its hits") {
  test::Filled root(2);
  root.cabinet.record_hits({test::key_of(0)});
  sql(root.layout, "ALTER TABLE entries DROP COLUMN compiler; ALTER TABLE entries DROP COLUMN digest");
  const auto before = test::contents(root.layout.index());
  CHECK(root.maintenance().survey_unchanged()->entries.size() == 2);
  CHECK(test::contents(root.layout.index()) == before);
  CHECK(root.maintenance().stats()->hits == 1);
  CHECK(root.maintenance().verify(false)->orphans == 0);
  CHECK(fs::is_empty(root.layout.quarantine()));
}

TEST_CASE("an index that a newer build wrote is unchanged, and listings come from the objects") {
  test::Filled root(2);
  root.cabinet.record_hits({test::key_of(0)});
  sql(root.layout, "ALTER TABLE entries RENAME COLUMN hits TO uses; PRAGMA user_version = 5");
  const auto before = test::contents(root.layout.index());
  const auto survey = root.maintenance().survey();
  REQUIRE(survey);
  CHECK(survey->entries.size() == 2);
  CHECK(survey->index_problem.find("written by a newer Cubinet") != std::string::npos);
  CHECK(root.maintenance().stats()->index_problem.find("newer") != std::string::npos);
  CHECK_FALSE(root.maintenance().coverage());
  CHECK(root.cabinet.publish(test::key_of(2), test::object_of(2)));
  root.cabinet.record_hits({test::key_of(1)});
  CHECK(root.maintenance().remove(test::key_of(2))->index_problem.find("newer") != std::string::npos);
  CHECK_FALSE(root.maintenance().collect({}, false));
  const auto report = root.maintenance().verify(true);
  CHECK(report->index_unused);
  CHECK(report->orphans == 0);
  CHECK(report->index_problem.find("newer") != std::string::npos);
  CHECK(test::contents(root.layout.index()) == before);
  CHECK(fs::is_empty(root.layout.quarantine()));
}

TEST_CASE("quarantine keeps the latest files within its limits of files and bytes") {
  test::Filled root(0);
  const auto set_aside = [&](const std::string& name, std::uintmax_t bytes) {
    const auto path = root.layout.objects() / name;
    test::write_file(path, "x");
    fs::resize_file(path, bytes);
    REQUIRE(root.maintenance().verify(true)->not_moved == 0);
  };
  constexpr std::uintmax_t part = std::uintmax_t{100} << 20;  // sparse
  for (const char* name : {"first", "second", "third"}) set_aside(name, part);
  const auto stats = root.maintenance().stats();
  CHECK(stats->quarantine_files == 2);
  CHECK(stats->quarantine_bytes == 2 * part);
  for (const auto& item : fs::directory_iterator(root.layout.quarantine())) {
    CHECK_FALSE(item.path().filename().native().starts_with("first"));
  }
  for (int i = 0; i < 1005; ++i) test::write_file(root.layout.quarantine() / ("z" + std::to_string(i)), "");
  set_aside("last", 1);
  CHECK(root.maintenance().stats()->quarantine_files == 1000);
  CHECK(root.maintenance().stats()->quarantined == 1000);
}
