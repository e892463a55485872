#include "util/elf_file.hpp"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "util/files.hpp"
#include "util/text.hpp"

namespace cubinet::util {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half own_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half own_machine = EM_AARCH64;
#else
#error "name this processor's ELF machine"
#endif

constexpr std::uint64_t no_end = ~std::uint64_t{0};

// The end of a part of the file; no_end if that overflows.
std::uint64_t end_of(std::uint64_t offset, std::uint64_t bytes) {
  return bytes > no_end - offset ? no_end : offset + bytes;
}

bool is_for_this_machine(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_machine == own_machine && header.e_type == ET_DYN &&
         header.e_phentsize == sizeof(Elf64_Phdr);
}

// The largest end of the parts that the file's tables name.
std::uint64_t last_end(const Elf64_Ehdr& header, const std::string& segments) {
  std::uint64_t last = end_of(header.e_shoff, std::uint64_t{header.e_shnum} * header.e_shentsize);
  for (std::size_t at = 0; at + sizeof(Elf64_Phdr) <= segments.size(); at += sizeof(Elf64_Phdr)) {
    Elf64_Phdr segment;
    std::memcpy(&segment, segments.data() + at, sizeof segment);
    if (segment.p_type == PT_LOAD) last = std::max(last, end_of(segment.p_offset, segment.p_filesz));
  }
  return last;
}

tl::unexpected<Error> refuse(const std::filesystem::path& path, const std::string& fault) {
  return fail(ErrorCode::unsupported, path.string() + ": " + fault);
}

}  // namespace

Expected<void> check_shared_library(const std::filesystem::path& path) {
  const auto opened = open_file(path);
  if (!opened) return propagate(opened);
  const auto head = read_at(opened->file, 0, sizeof(Elf64_Ehdr), path);
  if (!head) return propagate(head);
  Elf64_Ehdr header{};
  std::memcpy(&header, head->data(), std::min(head->size(), sizeof header));
  if (!is_for_this_machine(header)) return refuse(path, "not a shared library for this machine");
  const std::size_t table_bytes = std::size_t{header.e_phnum} * sizeof(Elf64_Phdr);
  const auto segments = read_at(opened->file, header.e_phoff, table_bytes, path);
  if (!segments) return propagate(segments);
  const std::uint64_t last = segments->size() < table_bytes ? no_end : last_end(header, *segments);
  if (last <= opened->bytes) return {};
  const std::string size = format_byte_size(static_cast<std::int64_t>(opened->bytes));
  return refuse(path, "truncated: the file ends after " + size + ", before the end of the library");
}

}  // namespace cubinet::util
