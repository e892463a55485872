// One object file: the payload as it is, then a footer. Tools that read the payload's own format (ELF) from the front
// of a file still do. All numbers are little-endian and unsigned.
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
//   facts   = JSON, see facts_json.hpp; family, arch, config and compiler of at most max_fact_text_bytes; no number is
//   negative,
//             compile_ms at most max_compile_ms, created at most max_moment
//   tail    = footer length        4 bytes, from "cubinetF" to the end of the file
//             check               32 bytes, SHA-256 of the footer's bytes before it
//             "cubinetE"           8 bytes
//
// Each length is bounded and compared with the file's size before it is used, the lengths must add up exactly, and
// every byte of the file is under the payload digest, under the check, or compared with a constant. A change of any of
// this is a new version, and a new version of the root's FORMAT.
#pragma once

#include <cstdint>
#include <string>

#include "cache/cabinet.hpp"

namespace cubinet::cache {

inline constexpr std::uint64_t max_payload_bytes = std::uint64_t{64} << 20;
inline constexpr std::uint64_t max_record_bytes = std::uint64_t{16}
                                                  << 10;  // ours are 1.5 KiB; a listing holds them all
inline constexpr std::uint64_t max_facts_bytes = std::uint64_t{16} << 10;
inline constexpr std::size_t max_fact_text_bytes = 256;  // of family, arch, config and compiler
inline constexpr double max_compile_ms = 1e12;
inline constexpr std::int64_t max_moment = std::int64_t{1} << 40;  // seconds since 1970
inline constexpr std::uint64_t footer_head_bytes = 92;
inline constexpr std::uint64_t footer_tail_bytes = 44;
inline constexpr std::uint64_t max_object_bytes =
    max_payload_bytes + footer_head_bytes + max_record_bytes + max_facts_bytes + footer_tail_bytes;

// The footer that belongs behind object.payload. invalid_argument when the payload is empty, a part is out of its
// bounds, the facts cannot be written, or `key` is not the SHA-256 of the record.
Expected<std::string> encode_footer(const Key& key, const Object& object);

// Takes a whole file apart. invalid_argument, saying what is wrong, unless it is an object of `key` in which every byte
// is as it was written. The payload keeps the file's storage: nothing large is copied.
Expected<Object> decode_object(std::string file, const Key& key);

}  // namespace cubinet::cache
