// The format of a bundle: entries of a cabinet in one file, for transport, which is also searched in place. It holds
// keys and no paths. All numbers are little-endian and unsigned.
//
//   bundle    = head row... check signature blob...
//   head      = "cubinetB"              8 bytes
//               version                 4 bytes, = 1
//               signature length        4 bytes, 0 or 64
//               rows                    8 bytes, 0 .. max_bundle_entries
//               length of all blobs     8 bytes, 0 .. max_bundle_bytes
//   row       = key                    32 bytes, ascending from row to row
//               blob digest            32 bytes, SHA-256 of the blob
//               blob offset             8 bytes, relative to the first blob: the end of the previous row's blob
//               blob length             8 bytes, 1 .. max_blob_bytes
//               object length           8 bytes, 1 .. max_object_bytes; together at most max_bundle_bytes
//               architecture           16 bytes, 1 to 16 of a-z 0-9 _, padded with NUL; as in the object's facts
//   check     = SHA-256 of head and rows
//   signature = Ed25519 over head, rows and check
//   blob      = one zstd frame that states its content's size: the object, as in object_format.hpp
//
// There are no bytes between or after these. Rows have one length and are sorted, so that they can be searched in
// place. Each length is checked against its bound, and their sum against the file's size, before memory is allocated
// for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cache/key.hpp"
#include "cache/object.hpp"
#include "cache/object_format.hpp"
#include "util/digest.hpp"

namespace cubinet::cache {

inline constexpr std::uint64_t max_bundle_entries = std::uint64_t{1} << 16;
inline constexpr std::uint64_t max_bundle_bytes = std::uint64_t{4} << 30;
inline constexpr std::uint64_t max_blob_bytes = max_object_bytes + (std::uint64_t{1} << 20);  // incompressible data
inline constexpr std::uint64_t bundle_head_bytes = 32;
inline constexpr std::uint64_t bundle_row_bytes = 104;
inline constexpr std::uint64_t bundle_signature_bytes = 64;

struct BundleHead {
  std::uint64_t signature_bytes = 0;
  std::uint64_t rows = 0;
  std::uint64_t blobs_bytes = 0;

  // Number of bytes before the first blob.
  [[nodiscard]] std::uint64_t front_bytes() const;
};

struct BundleRow {
  Key key;
  util::Sha256 digest{};
  std::uint64_t offset = 0;
  std::uint64_t blob_bytes = 0;
  std::uint64_t object_bytes = 0;
  std::string arch;
};

// The table of contents: everything before the first blob. A value; thread-safe.
class BundleContents {
 public:
  // Parses the head, the first bytes of a bundle. invalid_argument, saying what is wrong, unless it is the head of a
  // file of exactly `file_bytes`.
  static Expected<BundleHead> parse_head(std::string_view bytes, std::uint64_t file_bytes);
  // Parses the first front_bytes() of a file of exactly `file_bytes`. invalid_argument, saying what is wrong, unless
  // they follow every rule above that is not about blobs. Of the signature only the length is checked.
  static Expected<BundleContents> parse(std::string front, std::uint64_t file_bytes);

  [[nodiscard]] std::uint64_t size() const { return head_.rows; }
  [[nodiscard]] const BundleHead& head() const { return head_; }
  // Precondition: i < size().
  [[nodiscard]] BundleRow row(std::uint64_t i) const;
  [[nodiscard]] std::optional<BundleRow> find(const Key& key) const;

  [[nodiscard]] bool is_signed() const { return head_.signature_bytes != 0; }
  [[nodiscard]] std::string_view signed_part() const;
  [[nodiscard]] std::string_view signature() const;  // empty when there is none

 private:
  BundleHead head_;
  std::string front_;
};

// Encodes head, rows and check, which are what is signed. Fills in the rows' offsets. Precondition: the rows follow the
// rules above.
std::string encode_bundle_front(std::vector<BundleRow>& rows, bool with_signature);

// Whether an architecture's name fits a row.
bool fits_bundle(std::string_view arch);

// Returns the object of a row. invalid_argument, saying what is wrong, unless the blob is the row's and holds a sound
// object of the row's key and architecture.
Expected<Object> decode_blob(std::string_view blob, const BundleRow& row);

}  // namespace cubinet::cache
