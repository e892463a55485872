#include "cache/bundle_format.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cache/compression.hpp"
#include "cache/fields.hpp"

namespace cubinet::cache {
namespace {

constexpr std::string_view magic = "cubinetB";
constexpr std::uint32_t bundle_format_version = 1;
constexpr std::size_t arch_bytes = 16;

auto damaged_bundle(std::string what) { return fail(ErrorCode::invalid_argument, std::move(what)); }

std::string_view without_padding(std::string_view field) {
  const std::size_t last = field.find_last_not_of('\0');
  return field.substr(0, last + 1);
}

BundleRow read_row(std::string_view bytes) {
  Fields fields(bytes);
  BundleRow row;
  row.key.bytes = fields.digest();
  row.digest = fields.digest();
  row.offset = fields.number(8);
  row.blob_bytes = fields.number(8);
  row.object_bytes = fields.number(8);
  row.arch = without_padding(fields.take(arch_bytes));
  return row;
}

// Reads only the key of row `i` of a front, which is all that a search needs.
std::string_view key_at(std::string_view front, std::uint64_t i) {
  return front.substr(bundle_head_bytes + i * bundle_row_bytes, digest_bytes);
}

void put_row(std::string& out, const BundleRow& row) {
  put_digest(out, row.key.bytes);
  put_digest(out, row.digest);
  put_number(out, row.offset, 8);
  put_number(out, row.blob_bytes, 8);
  put_number(out, row.object_bytes, 8);
  out += row.arch;
  out.append(arch_bytes - row.arch.size(), '\0');
}

Expected<void> check_row(const BundleRow& row, std::uint64_t end, std::uint64_t objects_bytes) {
  const auto wrong = [&](const char* what) { return damaged_bundle(fmt::format("entry {}: {}", row.key.hex(), what)); };
  if (row.offset != end) return wrong("its blob does not begin where the one before ends");
  if (row.blob_bytes == 0 || row.blob_bytes > max_blob_bytes) return wrong("the blob's length is out of bounds");
  if (row.object_bytes == 0 || row.object_bytes > max_object_bytes)
    return wrong("the object's length is out of bounds");
  if (objects_bytes + row.object_bytes > max_bundle_bytes) return wrong("the objects are together larger than allowed");
  if (!fits_bundle(row.arch)) return wrong("the architecture's name is invalid");
  return {};
}

// Sums cannot overflow: each is checked against a bound far below 2^64 before the next is added.
Expected<void> check_rows(const BundleContents& contents) {
  std::uint64_t end = 0;
  std::uint64_t objects_bytes = 0;
  std::optional<Key> last;
  for (std::uint64_t i = 0; i < contents.size(); ++i) {
    const BundleRow row = contents.row(i);
    if (last && *last == row.key) return damaged_bundle(fmt::format("the key {} occurs twice", row.key.hex()));
    if (last && *last > row.key) return damaged_bundle(fmt::format("the key {} is out of order", row.key.hex()));
    if (auto checked = check_row(row, end, objects_bytes); !checked) return checked;
    end += row.blob_bytes;
    objects_bytes += row.object_bytes;
    if (end > contents.head().blobs_bytes) return damaged_bundle("the blobs are longer than the head says");
    last = row.key;
  }
  if (end != contents.head().blobs_bytes) return damaged_bundle("the blobs are shorter than the head says");
  return {};
}

}  // namespace

std::uint64_t BundleHead::front_bytes() const {
  return bundle_head_bytes + rows * bundle_row_bytes + digest_bytes + signature_bytes;
}

Expected<BundleHead> BundleContents::parse_head(std::string_view bytes, std::uint64_t file_bytes) {
  if (bytes.size() < bundle_head_bytes) return damaged_bundle("too short to hold a head");
  Fields fields(bytes);
  if (fields.take(magic.size()) != magic) return damaged_bundle("does not begin with the mark of a bundle");
  const std::uint64_t version = fields.number(4);
  if (version != bundle_format_version) return damaged_bundle(fmt::format("format version {} is not known", version));
  BundleHead head;
  head.signature_bytes = fields.number(4);
  head.rows = fields.number(8);
  head.blobs_bytes = fields.number(8);
  if (head.signature_bytes != 0 && head.signature_bytes != bundle_signature_bytes) {
    return damaged_bundle("the signature's length is out of bounds");
  }
  if (head.rows > max_bundle_entries) return damaged_bundle("more entries than are allowed");
  if (head.blobs_bytes > max_bundle_bytes) return damaged_bundle("more bytes than are allowed");
  const std::uint64_t whole = head.front_bytes() + head.blobs_bytes;
  if (whole == file_bytes) return head;
  return damaged_bundle(fmt::format("it is {} bytes long, but its head says {}", file_bytes, whole));
}

Expected<BundleContents> BundleContents::parse(std::string front, std::uint64_t file_bytes) {
  const auto head = parse_head(front, file_bytes);
  if (!head) return propagate(head);
  if (front.size() != head->front_bytes()) return damaged_bundle("the table of contents is not whole");
  BundleContents contents;
  contents.head_ = *head;
  contents.front_ = std::move(front);
  const std::string_view part = contents.signed_part();
  const std::string_view rows = part.substr(0, part.size() - digest_bytes);
  if (util::sha256(rows) != Fields(part.substr(rows.size())).digest()) {
    return damaged_bundle("the check of the table of contents is wrong");
  }
  if (auto checked = check_rows(contents); !checked) return propagate(checked);
  return contents;
}

BundleRow BundleContents::row(std::uint64_t i) const {
  return read_row(std::string_view(front_).substr(bundle_head_bytes + i * bundle_row_bytes, bundle_row_bytes));
}

std::optional<BundleRow> BundleContents::find(const Key& key) const {
  std::string wanted;
  put_digest(wanted, key.bytes);
  std::uint64_t first = 0;
  for (std::uint64_t count = size(); count > 0;) {
    const std::uint64_t half = count / 2;
    const bool below = key_at(front_, first + half) < wanted;
    first = below ? first + half + 1 : first;
    count = below ? count - half - 1 : half;
  }
  if (first == size() || key_at(front_, first) != wanted) return std::nullopt;
  return row(first);
}

std::string_view BundleContents::signed_part() const {
  return std::string_view(front_).substr(0, front_.size() - head_.signature_bytes);
}

std::string_view BundleContents::signature() const { return std::string_view(front_).substr(signed_part().size()); }

std::string encode_bundle_front(std::vector<BundleRow>& rows, bool with_signature) {
  std::uint64_t end = 0;
  for (BundleRow& row : rows) {
    row.offset = end;
    end += row.blob_bytes;
  }
  std::string front(magic);
  put_number(front, bundle_format_version, 4);
  put_number(front, with_signature ? bundle_signature_bytes : 0, 4);
  put_number(front, rows.size(), 8);
  put_number(front, end, 8);
  for (const BundleRow& row : rows) put_row(front, row);
  put_digest(front, util::sha256(front));
  return front;
}

bool fits_bundle(std::string_view arch) {
  const auto known = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !arch.empty() && arch.size() <= arch_bytes && std::all_of(arch.begin(), arch.end(), known);
}

Expected<Object> decode_blob(std::string_view blob, const BundleRow& row) {
  // The digest is compared first, so that the decompressor sees only what the table of contents covers.
  if (blob.size() != row.blob_bytes || util::sha256(blob) != row.digest)
    return damaged_bundle("the blob's digest is wrong");
  auto bytes = decompress(blob, row.object_bytes);
  if (!bytes) return propagate(bytes);
  auto object = decode_object(std::move(*bytes), row.key);
  if (object && object->facts.arch != row.arch) {
    return damaged_bundle(fmt::format("the object is for {}, not {}", object->facts.arch, row.arch));
  }
  return object;
}

}  // namespace cubinet::cache
