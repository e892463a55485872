#include "cache/object_format.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <nlohmann/json.hpp>

#include "cache/fields.hpp"
#include "cache/object.hpp"
#include "catch.hpp"
#include "unit/cache/support.hpp"
#include "unit/util/failing_memory.hpp"

using namespace cubinet;
using cache::decode_object;
using cache::encode_footer;

namespace {

std::string encoded(const cache::Object& object) {
  return object.payload + encode_footer(test::key_of(object.record), object).value();
}

// Encodes the footer without any check.
std::string unchecked(const cache::Object& object) {
  const std::string facts = cache::facts_to_json(object.facts).value();
  std::string footer = "cubinetF";
  cache::put_number(footer, 1, 4);
  cache::put_number(footer, object.payload.size(), 8);
  cache::put_digest(footer, util::sha256(object.payload));
  cache::put_digest(footer, util::sha256(object.record));
  cache::put_number(footer, object.record.size(), 4);
  cache::put_number(footer, facts.size(), 4);
  footer += object.record + facts;
  cache::put_number(footer, footer.size() + cache::footer_tail_bytes, 4);
  cache::put_digest(footer, util::sha256(footer));
  return object.payload + footer + "cubinetE";
}

}  // namespace

TEST_CASE("an object is read back as it was written, its payload first in the file") {
  const auto object = test::object_of(1);
  const std::string file = encoded(object);
  CHECK(file.starts_with(object.payload));
  const auto back = decode_object(file, test::key_of(1));
  REQUIRE(back);
  CHECK(test::equal(*back, object));
}

TEST_CASE("records and payloads of any bytes are stored verbatim") {
  cache::Object object = test::object_of(0);
  object.payload = std::string("\0cubinetE\xff\n", 11);
  object.record = std::string("\0\xffnot JSON", 10);
  CHECK(test::equal(decode_object(encoded(object), test::key_of(object.record)).value(), object));
  object.record.clear();
  CHECK(test::equal(decode_object(encoded(object), test::key_of(object.record)).value(), object));
}

TEST_CASE("a change of any bit of an object is detected") {
  const std::string file = encoded(test::object_of(1));
  for (std::size_t i = 0; i < file.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = file;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      const auto object = decode_object(changed, test::key_of(1));
      if (object) FAIL("bit " << bit << " of byte " << i);
    }
  }
}

TEST_CASE("an object that is truncated, extended or doubled is refused") {
  const std::string file = encoded(test::object_of(1));
  for (std::size_t length = 0; length < file.size(); ++length) {
    if (decode_object(file.substr(0, length), test::key_of(1))) FAIL("cut to " << length);
    if (decode_object(file.substr(length + 1), test::key_of(1))) FAIL("cut at the front to " << length);
  }
  CHECK_FALSE(decode_object(file + '\0', test::key_of(1)));
  CHECK_FALSE(decode_object(std::string(1, '\0').append(file), test::key_of(1)));
  CHECK_FALSE(decode_object(file + file, test::key_of(1)));
}

TEST_CASE("a sound object of another key is refused") {
  const auto wrong = decode_object(encoded(test::object_of(2)), test::key_of(1));
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message.find(test::key_of(2).hex()) != std::string::npos);
}

TEST_CASE("lengths out of bounds are refused even with a valid check") {
  const std::string file = encoded(test::object_of(1));
  const std::size_t payload = test::object_of(1).payload.size();
  // Offsets in the head of: version, payload length, record length, facts length (object_format.hpp).
  for (const std::size_t offset : {8U, 12U, 84U, 88U}) {
    for (const char value : {'\x00', '\x7f', '\xff'}) {
      std::string changed = file;
      for (std::size_t i = 0; i < 4; ++i) changed[payload + offset + i] = value;
      const std::size_t check = changed.size() - 40;
      const auto digest = util::sha256(std::string_view(changed).substr(payload, check - payload));
      for (std::size_t i = 0; i < digest.size(); ++i) changed[check + i] = static_cast<char>(digest[i]);
      INFO("offset " << offset << " value " << static_cast<int>(value));
      CHECK_FALSE(decode_object(changed, test::key_of(1)));
    }
  }
}

TEST_CASE("an object that cannot be stored is refused with the reason") {
  auto object = test::object_of(1);
  CHECK(encode_footer(test::key_of(2), object).error().message.find("not the SHA-256") != std::string::npos);
  object.facts.compile_ms = std::nan("");
  CHECK(encode_footer(test::key_of(1), object).error().code == ErrorCode::invalid_argument);
  object = test::object_of(1);
  object.facts.details.set("family", std::string(1, '\xff'));
  CHECK(encode_footer(test::key_of(1), object).error().code == ErrorCode::invalid_argument);
  object = test::object_of(1);
  object.payload.clear();
  CHECK(encode_footer(test::key_of(1), object).error().code == ErrorCode::invalid_argument);
  object.payload.assign(cache::max_payload_bytes + 1, 'x');
  CHECK(encode_footer(test::key_of(1), object).error().message.find("too large") != std::string::npos);
}

TEST_CASE("facts out of bounds are neither written nor read") {
  const std::vector<std::function<void(cache::Facts&)>> changes = {
      [](auto& facts) { facts.details.set("family", std::string(257, 'x')); },
      [](auto& facts) { facts.arch.assign(257, 'x'); },
      [](auto& facts) { facts.details.set("config", std::string(257, 'x')); },
      [](auto& facts) { facts.compiler.assign(257, 'x'); },
      [](auto& facts) { facts.details.set("kernel_names", cache::Details::Texts(2000, "long_kernel_name")); },
      [](auto& facts) { facts.details.set("n", -1); },
      [](auto& facts) { facts.details.set("k", -1); },
      [](auto& facts) { facts.details.set("registers", -1); },
      [](auto& facts) { facts.details.set("spill_bytes", -1); },
      [](auto& facts) { facts.details.set("smem_bytes", -1); },
      [](auto& facts) { facts.created = -1; },
      [](auto& facts) { facts.created = std::numeric_limits<std::int64_t>::max(); },
      [](auto& facts) { facts.compile_ms = -1; },
      [](auto& facts) { facts.compile_ms = 1e308; },
  };
  cache::Object largest = test::object_of(1);
  largest.facts.details.set("family", std::string(256, 'x'));
  const cache::Key key = test::key_of(1);
  CHECK(unchecked(largest) == encoded(largest));
  CHECK(decode_object(unchecked(largest), key).has_value());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    INFO(i);
    cache::Object object = test::object_of(1);
    changes[i](object.facts);
    CHECK(cache::encode_footer(key, object).error().code == ErrorCode::invalid_argument);
    CHECK(cache::decode_object(unchecked(object), key).error().code == ErrorCode::invalid_argument);
  }
}

TEST_CASE("facts with an additional or missing detail, or one of another type, are refused") {
  const auto refused = [](const std::function<void(cache::Details&)>& change) {
    auto object = test::object_of(1);
    change(object.facts.details);
    const auto footer = encode_footer(test::key_of(1), object);
    return !footer && footer.error().code == ErrorCode::invalid_argument;
  };
  CHECK(refused([](auto& details) { details = {}; }));
  CHECK(refused([](auto& details) { details.set("later", 1); }));
  CHECK(refused([](auto& details) { details.set("n", "4096"); }));
  CHECK(refused([](auto& details) { details.set("registers", 3'000'000'000); }));
  CHECK_FALSE(refused([](auto& details) { details.set("config", ""); }));
}

TEST_CASE("facts are compact JSON sorted by name, and are read back unchanged for any texts") {
  for (const std::string& text : {std::string(), std::string("plain, with {} and '"), std::string("\"quoted\" \\"),
                                  std::string("line\nfeed\ttab\x01\x7f"), std::string("\xC3\xA4 \xF0\x9F\x98\x80"),
                                  std::string("nul\0byte", 8)}) {
    for (const double milliseconds : {0.0, 214.125, 0.1, 1e-7, 1e21, 1234567890123.5}) {
      cache::Facts facts = test::object_of(7).facts;
      facts.arch = text;
      facts.details = test::details_of(text, 4096, 7168, text, {text, "kernel", text});
      facts.compile_ms = milliseconds;
      facts.created = std::numeric_limits<std::int64_t>::min();
      const std::string json = cache::facts_to_json(facts).value();
      INFO(json);
      CHECK(cache::facts_from_json(json) == facts);
      // Texts with control characters are left out, because JSON can escape these in more than one way.
      const auto plain = [](unsigned char c) { return c >= 0x20 && c != 0x7F; };
      if (std::all_of(text.begin(), text.end(), plain)) CHECK(nlohmann::json::parse(json).dump() == json);
    }
  }
  cache::Facts bare = test::object_of(7).facts;
  bare.details.set("kernel_names", cache::Details::Texts());
  CHECK(nlohmann::json::parse(cache::facts_to_json(bare).value()).at("kernel_names") == nlohmann::json::array());
  for (const char* broken : {"\xFF", "cut \xC3", "\xED\xA0\x80"}) {
    cache::Facts facts = test::object_of(7).facts;
    facts.details.set("kernel_names", cache::Details::Texts{"kernel", broken});
    CHECK(cache::facts_to_json(facts).error().code == ErrorCode::invalid_argument);
  }
}

TEST_CASE("facts are read only if every field is present with its type and within its range") {
  const std::string json = cache::facts_to_json(test::object_of(1).facts).value();
  CHECK(cache::facts_from_json(json) == test::object_of(1).facts);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = json;
    const auto at = changed.find(from);
    REQUIRE(at != std::string::npos);
    return cache::facts_from_json(changed.replace(at, from.size(), to));
  };
  CHECK_FALSE(with("\"arch\"", "\"arhc\""));
  CHECK_FALSE(with(":168", ":\"168\""));
  CHECK_FALSE(with(":168", ":3000000000"));
  CHECK_FALSE(with("7168", "18446744073709551615"));
  CHECK_FALSE(with("7168", "7168.5"));
  CHECK_FALSE(with("\"kernel_a\"", "1"));
  CHECK_FALSE(with("{", "["));
  CHECK(with("{", "{\"later\":1,").has_value());
}

TEST_CASE("Running out of memory while writing an object throws an exception and does not end the process") {
  if (!test::memory_can_fail) CUBINET_SKIP(test::no_failing_memory);
  const auto object = test::object_of(1);
  const auto key = test::key_of(1);
  CHECK(test::failures_for_want_of_memory([&] { static_cast<void>(encode_footer(key, object)); }) > 3);
}
