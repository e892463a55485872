// The format of an object file: the payload unchanged, then a footer. Tools that read the payload's own format (ELF)
// can read the file, since they read from its front. All numbers are little-endian and unsigned.
//
//   object  = payload footer
//   footer  = head record facts tail
//   head    = "cubinetF"           8 bytes
//             version              4 bytes, = 1
//             payload length       8 bytes, 1 .. max_payload_bytes
//             payload digest      32 bytes, SHA-256 of payload
//             key                 32 bytes, SHA-256 of record
//             record length        4 bytes, 0 .. max_record_bytes
//             facts length         4 bytes, 0 .. max_facts_bytes
//   record  = the canonical record, verbatim
//   facts   = JSON with the members and bounds that object.hpp gives
//   tail    = footer length        4 bytes, from "cubinetF" to the end of the file
//             check               32 bytes, SHA-256 of the footer's bytes before it
//             "cubinetE"           8 bytes
//
// Each length is checked against its bound and the file's size before it is used, the lengths must add up exactly, and
// every byte of the file is covered by the payload digest or the check, or compared with a constant. A change of the
// format is a new version, and a new version of the root's FORMAT.
#pragma once

#include <cstdint>
#include <string>

#include "cache/key.hpp"
#include "cache/object.hpp"

namespace cubinet::cache {

inline constexpr std::uint64_t max_payload_bytes = std::uint64_t{64} << 20;
inline constexpr std::uint64_t max_record_bytes = std::uint64_t{16}
                                                  << 10;  // ours are 1.5 KiB; a listing holds them all
inline constexpr std::uint64_t max_facts_bytes = std::uint64_t{16} << 10;
inline constexpr std::uint64_t footer_head_bytes = 92;
inline constexpr std::uint64_t footer_tail_bytes = 44;
inline constexpr std::uint64_t max_object_bytes =
    max_payload_bytes + footer_head_bytes + max_record_bytes + max_facts_bytes + footer_tail_bytes;

// Returns the footer that follows object.payload. invalid_argument when the payload is empty, a part is out of its
// bounds, the facts are not those of the format, or `key` is not the SHA-256 of the record.
Expected<std::string> encode_footer(const Key& key, const Object& object);

// Decodes a whole file. invalid_argument, saying what is wrong, unless it is an object of `key` in which every byte is
// as it was written. The payload keeps the storage of `file`, so that nothing large is copied.
Expected<Object> decode_object(std::string file, const Key& key);

}  // namespace cubinet::cache
