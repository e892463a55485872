// Files written by the first build that wrote this format. They are never regenerated: a build that cannot read them
// breaks every root that exists.
#include "cache/bundle.hpp"
#include "catch.hpp"
#include "unit/cache/bundle_builder.hpp"

using namespace cubinet;
namespace fs = std::filesystem;

namespace {

const std::string golden_payload = std::string(
    "\x7f"
    "ELF\x02\x01\x01\x33\x00"
    "payload of a golden object\n",
    9 + 27);
const std::string record = R"({"architecture":"sm_90a","family":"bf16_grouped_contiguous","k":7168,"n":4096})";
const cache::Facts golden_facts = [] {
  cache::Facts made{"sm_90a", "", 214.125, 1'764'000'000,
                    test::details_of("bf16_grouped_contiguous", 4096, 7168, "", {"gemm"})};
  made.details.set("spill_bytes", 8);
  return made;
}();

// Decodes a file of lines of hexadecimal digits.
std::string bytes_of(const std::string& name) {
  std::string digits = test::contents(fs::path(CUBINET_SOURCE_DIR) / "tests/unit/cache/golden" / name);
  std::erase(digits, '\n');
  std::vector<std::uint8_t> bytes(digits.size() / 2);
  REQUIRE(util::from_hex(digits, bytes));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("an object written by version 1 is found by this build") {
  test::Filled root(0);
  const auto key = test::key_of(record);
  const auto path = root.layout.object(key);
  fs::create_directories(path.parent_path());
  test::write_file(path, bytes_of("object-v1.hex"));
  const auto object = root.cabinet.find(key, record);
  REQUIRE(object);
  CHECK(object->payload == golden_payload);
  CHECK(object->facts == golden_facts);
  REQUIRE(test::entries_of(root.cabinet)->size() == 1);
  CHECK(test::entries_of(root.cabinet)->front().facts == golden_facts);
}

TEST_CASE("this build writes an object of version 1 byte for byte") {
  test::Filled root(0);
  const auto key = test::key_of(record);
  REQUIRE(root.cabinet.publish(key, {golden_payload, record, golden_facts}));
  CHECK(test::contents(root.layout.object(key)) == bytes_of("object-v1.hex"));
}

TEST_CASE("an object with its compiler's name is read, and is written byte for byte") {
  test::Filled root(0);
  const auto key = test::key_of(record);
  cache::Facts named = golden_facts;
  named.details.set("config", "t256x128u32s4c1b0lp");
  named.compiler = "NVRTC 13.0.88";
  REQUIRE(root.cabinet.publish(key, {golden_payload, record, named}));
  CHECK(test::contents(root.layout.object(key)) == bytes_of("object-v1-compiler.hex"));
  CHECK(root.cabinet.find(key, record)->facts == named);
  CHECK(test::entries_of(root.cabinet)->front().facts == named);
}

TEST_CASE("an index of schema version 3 keeps its rows, uses and coverage, and gets counters") {
  test::Filled root(2);
  test::write_file(root.layout.index(), bytes_of("index-v3.hex"));
  const auto entries = test::entries_of(root.cabinet).value();
  REQUIRE(entries.size() == 2);
  for (const auto& entry : entries) {
    CHECK(entry.hits == (entry.key == test::key_of(0) ? 2 : 1));
    CHECK(entry.last_used == 1'764'000'123);
  }
  REQUIRE(root.maintenance().coverage()->size() == 1);
  CHECK(root.maintenance().coverage()->front().keys.size() == 2);
  CHECK(root.maintenance().stats()->counters == cache::Counters{.hits = 3});
  CHECK(root.maintenance().verify(false)->orphans == 0);
  CHECK(fs::is_empty(root.layout.quarantine()));
}

TEST_CASE("an index of schema version 4 is read with its counters and evicted keys") {
  test::Filled root(2);
  test::write_file(root.layout.index(), bytes_of("index-v4.hex"));
  const auto entries = test::entries_of(root.cabinet).value();
  REQUIRE(entries.size() == 2);
  for (const auto& entry : entries) CHECK(entry.hits == (entry.key == test::key_of(0) ? 2 : 1));
  REQUIRE(root.maintenance().coverage()->size() == 1);
  CHECK(root.maintenance().stats()->counters == cache::Counters{.hits = 3, .misses = 4, .compiles = 3, .evictions = 1});
  REQUIRE(root.cabinet.publish(test::key_of(2), test::object_of(2), cache::Origin::compiled));
  CHECK(root.maintenance().stats()->counters ==
        cache::Counters{.hits = 3, .misses = 5, .compiles = 4, .evictions = 1, .evicted_misses = 1});
  CHECK(fs::is_empty(root.layout.quarantine()));
}

TEST_CASE("a recorded problem written by version 1 is read, and written byte for byte") {
  test::Filled root(0);
  const cache::RecordedProblem problem{
      R"({"arch":"sm_90a","dtype":"fp8","groups":32,"k":7168,"layout":"masked","n":4096})", 1, 4096, 1'764'000'000};
  const auto file = root.layout.problems() / "a47adfa5e9c7a0b1cfa6391f7707b0a1ad18c18e58dce7b96da733bd04ea3758";
  fs::create_directory(root.layout.problems());
  test::write_file(file, bytes_of("problem-v1.hex"));
  REQUIRE(root.maintenance().recorded_problems()->problems == std::vector{problem});
  CHECK(cache::to_text(problem) == test::contents(file));
}

namespace {

// The other entry of the golden bundle.
const cache::Object second_golden = {
    [] {
      std::string bytes =
          "\x7f"
          "ELF";
      for (int i = 0; i < 768; ++i) bytes.push_back(static_cast<char>(i));
      return bytes + std::string(1000, '\0');
    }(),
    R"({"architecture":"sm_100a","family":"fp8_grouped_masked","k":128,"n":64})",
    {"sm_100a", "", 33.5, 1'764'000'001, [] {
       auto details = test::details_of("fp8_grouped_masked", 64, 128, "t64x128", {"a", "b"});
       details.set("registers", 90);
       details.set("smem_bytes", 1024);
       details.set("spill_bytes", 0);
       return details;
     }()}};

}  // namespace

// The golden bundle was written from the grammar by a separate program, and signed with the key of RFC 8032, test 1.
TEST_CASE("a bundle written by version 1 is read and accepted by this build") {
  const test::Keys keys;
  test::write_file(keys.folder / "bundle", bytes_of("bundle-v1.hex"));
  const auto bundle = cache::Bundle::open(keys.folder / "bundle", keys.verify());
  REQUIRE(bundle);
  REQUIRE(bundle->contents().size() == 2);
  CHECK(test::equal(bundle->read(test::key_of(record)).value(), {golden_payload, record, golden_facts}));
  CHECK(test::equal(bundle->read(test::key_of(second_golden.record)).value(), second_golden));
}

TEST_CASE("this build writes a bundle of version 1 byte for byte, if it has the zstd version of the golden bundle") {
  if (cache::zstd_version() != "1.5.4") CUBINET_SKIP("zstd " + cache::zstd_version() + " may compress otherwise");
  cache::BundleWriter writer;
  REQUIRE(writer.add(test::key_of(second_golden.record), second_golden));
  REQUIRE(writer.add(test::key_of(record), {golden_payload, record, golden_facts}));
  std::string bytes;
  for (const std::string& piece : std::move(writer).finish(test::Keys().signing())) bytes += piece;
  CHECK(bytes == bytes_of("bundle-v1.hex"));
}
