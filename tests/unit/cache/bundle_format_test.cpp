// The format of a bundle: what is written, what is read, and what is refused.
#include "cache/bundle_format.hpp"

#include "catch.hpp"
#include "unit/cache/bundle_builder.hpp"

using namespace cubinet;
using test::read_bundle;
using test::written_bundle;

TEST_CASE("a bundle's entries are read back unchanged, in the order of their keys") {
  const auto objects = read_bundle(written_bundle({0, 1, 2, 3, 4}));
  REQUIRE(objects);
  REQUIRE(objects->size() == 5);
  std::vector<cache::Key> keys;
  for (const cache::Object& object : *objects) {
    keys.push_back(test::key_of(object.record));
    bool known = false;
    for (int i = 0; i < 5; ++i) known = known || test::equal(object, test::object_of(i));
    CHECK(known);
  }
  CHECK(std::is_sorted(keys.begin(), keys.end()));
}

TEST_CASE("a bundle follows the grammar field by field") {
  CHECK(written_bundle({0, 1, 2}) == test::raw_bundle(3).bytes());
  CHECK(written_bundle({}) == test::raw_bundle(0).bytes());
}

TEST_CASE("a bundle does not depend on the order of adding entries or on adding one twice") {
  CHECK(written_bundle({2, 0, 1, 0}) == written_bundle({0, 1, 2}));
}

TEST_CASE("every key of a bundle is found at its row, and no other key is found") {
  for (const int count : {0, 1, 2, 3, 8, 33}) {
    const std::string bytes = test::raw_bundle(count).bytes();
    const auto head = cache::BundleContents::parse_head(bytes, bytes.size()).value();
    const auto contents = cache::BundleContents::parse(bytes.substr(0, head.front_bytes()), bytes.size()).value();
    for (int i = 0; i < count; ++i) {
      const auto row = contents.find(test::key_of(i));
      REQUIRE(row);
      CHECK(row->key == test::key_of(i));
      CHECK(row->arch == "sm_90a");
    }
    for (int i = count; i < count + 20; ++i) CHECK_FALSE(contents.find(test::key_of(i)));
    cache::Key last;
    last.bytes.fill(0xff);
    CHECK_FALSE(contents.find(cache::Key{}));
    CHECK_FALSE(contents.find(last));
  }
}

TEST_CASE("a change of any bit of a bundle is detected") {
  const std::string bytes = written_bundle({0, 1});
  REQUIRE(read_bundle(bytes));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      if (read_bundle(changed)) FAIL("bit " << bit << " of byte " << i);
    }
  }
}

TEST_CASE("a bundle that is truncated, extended or doubled is refused") {
  const std::string bytes = written_bundle({0, 1});
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    if (read_bundle(bytes.substr(0, length))) FAIL("cut to " << length);
  }
  CHECK_FALSE(read_bundle(bytes + '\0'));
  CHECK_FALSE(read_bundle(bytes + bytes));
}

TEST_CASE("an entry that a cabinet refuses, or with an invalid architecture name, is refused by the writer") {
  cache::BundleWriter writer;
  auto object = test::object_of(0);
  CHECK_FALSE(writer.add(test::key_of(1), object));  // the key is another record's
  for (const char* arch : {"", "SM_90a", "../sm_90a", "sm_90a ", "sm_90a_and_17_xyz"}) {
    object.facts.arch = arch;
    CHECK_FALSE(writer.add(test::key_of(0), object));
  }
  object.facts.arch = "sm_90a_and_16_xy";
  CHECK(writer.add(test::key_of(0), object));
  object.payload.clear();
  object.record = "another";
  CHECK_FALSE(writer.add(test::key_of("another"), object));
}

TEST_CASE("incompressible and highly compressible objects are read back from a bundle") {
  cache::Object noise = test::object_of(0), zeros = test::object_of(1);
  noise.payload.clear();
  std::uint32_t state = 1;
  for (int i = 0; i < 300'000; ++i)
    noise.payload.push_back(static_cast<char>((state = state * 1664525 + 1013904223) >> 24));
  zeros.payload.assign(3 << 20, '\0');
  cache::BundleWriter writer;
  REQUIRE(writer.add(test::key_of(0), noise));
  REQUIRE(writer.add(test::key_of(1), zeros));
  std::string bytes;
  for (const std::string& piece : std::move(writer).finish({})) bytes += piece;
  const auto objects = read_bundle(bytes);
  REQUIRE(objects);
  for (const auto& object : *objects) CHECK(test::equal(object, object.record == noise.record ? noise : zeros));
}
