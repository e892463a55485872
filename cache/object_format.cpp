#include "cache/object_format.hpp"

#include <fmt/format.h>

#include <string_view>

#include "cache/fields.hpp"
#include "util/digest.hpp"

namespace cubinet::cache {
namespace {

constexpr std::string_view head_magic = "cubinetF";
constexpr std::string_view tail_magic = "cubinetE";
constexpr std::uint32_t object_format_version = 1;

struct Head {
  std::uint64_t version = 0;
  std::uint64_t payload_length = 0;
  util::Sha256 payload_digest{};
  Key key;
  std::uint64_t record_length = 0;
  std::uint64_t facts_length = 0;
};

auto damaged_object(std::string_view what) { return fail(ErrorCode::invalid_argument, std::string(what)); }

Head read_head(std::string_view footer) {
  Fields fields(footer);
  fields.take(head_magic.size());
  Head head;
  head.version = fields.number(4);
  head.payload_length = fields.number(8);
  head.payload_digest = fields.digest();
  head.key.bytes = fields.digest();
  head.record_length = fields.number(4);
  head.facts_length = fields.number(4);
  return head;
}

// Returns the footer of a file after checking its tail.
Expected<std::string_view> find_footer(std::string_view file) {
  if (file.size() < footer_head_bytes + footer_tail_bytes) return damaged_object("too short to hold a footer");
  Fields tail(file.substr(file.size() - footer_tail_bytes));
  const std::uint64_t length = tail.number(4);
  const util::Sha256 check = tail.digest();
  if (tail.take(tail_magic.size()) != tail_magic) return damaged_object("does not end with the mark of an object");
  if (length < footer_head_bytes + footer_tail_bytes || length > file.size()) {
    return damaged_object("the footer's length does not fit the file");
  }
  const std::string_view footer = file.substr(file.size() - length);
  const std::size_t unchecked = digest_bytes + tail_magic.size();
  if (util::sha256(footer.substr(0, footer.size() - unchecked)) != check)
    return damaged_object("the footer's check is wrong");
  if (footer.substr(0, head_magic.size()) != head_magic)
    return damaged_object("the footer does not start with its mark");
  return footer;
}

Expected<void> check_head(const Head& head, std::size_t file_size, std::size_t footer_size, const Key& key) {
  if (head.version != object_format_version)
    return damaged_object(fmt::format("format version {} is not known", head.version));
  if (head.payload_length == 0 || head.payload_length > max_payload_bytes || head.record_length > max_record_bytes ||
      head.facts_length > max_facts_bytes) {
    return damaged_object("a length is out of bounds");
  }
  if (footer_size != footer_head_bytes + head.record_length + head.facts_length + footer_tail_bytes ||
      file_size != head.payload_length + footer_size) {
    return damaged_object("the lengths do not add up to the file's");
  }
  if (head.key != key) return damaged_object(fmt::format("holds the entry {}", head.key.hex()));
  return {};
}

}  // namespace

Expected<std::string> encode_footer(const Key& key, const Object& object) {
  if (auto bounded = check_facts(object.facts); !bounded) return propagate(bounded);
  const auto facts = facts_to_json(object.facts);
  if (!facts) return propagate(facts);
  if (object.payload.empty()) return fail(ErrorCode::invalid_argument, "an entry without a payload cannot be stored");
  if (object.payload.size() > max_payload_bytes || object.record.size() > max_record_bytes ||
      facts->size() > max_facts_bytes) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("the entry is too large to store: payload {}, record {}, facts {} bytes",
                            object.payload.size(), object.record.size(), facts->size()));
  }
  if (util::sha256(object.record) != key.bytes) {
    return fail(ErrorCode::invalid_argument, fmt::format("the key {} is not the SHA-256 of the record", key.hex()));
  }
  std::string footer(head_magic);
  put_number(footer, object_format_version, 4);
  put_number(footer, object.payload.size(), 8);
  put_digest(footer, util::sha256(object.payload));
  put_digest(footer, key.bytes);
  put_number(footer, object.record.size(), 4);
  put_number(footer, facts->size(), 4);
  footer += object.record;
  footer += *facts;
  put_number(footer, footer.size() + footer_tail_bytes, 4);
  put_digest(footer, util::sha256(footer));
  footer += tail_magic;
  return footer;
}

Expected<Object> decode_object(std::string file, const Key& key) {
  const auto footer = find_footer(file);
  if (!footer) return propagate(footer);
  const Head head = read_head(*footer);
  if (auto checked = check_head(head, file.size(), footer->size(), key); !checked) {
    return propagate(checked);
  }
  if (util::sha256(std::string_view(file).substr(0, head.payload_length)) != head.payload_digest) {
    return damaged_object("the payload's digest is wrong");
  }
  Object object;
  object.record = footer->substr(footer_head_bytes, head.record_length);
  if (util::sha256(object.record) != key.bytes) return damaged_object("the record is not the key's");
  auto facts = facts_from_json(footer->substr(footer_head_bytes + head.record_length, head.facts_length));
  if (!facts) return damaged_object("the facts cannot be read");
  if (auto bounded = check_facts(*facts); !bounded) return propagate(bounded);
  object.facts = std::move(*facts);
  file.resize(head.payload_length);
  object.payload = std::move(file);
  return object;
}

}  // namespace cubinet::cache
