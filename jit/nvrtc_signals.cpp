#include "jit/nvrtc_signals.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace cubinet::jit {
namespace {

using Handler = void (*)(int);

Handler signal_that_is_ignored(int, Handler) { return SIG_IGN; }

// What the loader knows of a library's imports of functions: its dynamic section (System V gABI, chapter 5; the
// addresses in it have been relocated by the loader).
struct Imports {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * begin = nullptr;
  std::size_t bytes = 0;
};

Imports imports_of(const link_map& map) {
  Imports imports;
  for (const ElfW(Dyn)* entry = map.l_ld; entry->d_tag != DT_NULL; ++entry) {
    const auto address = entry->d_un.d_ptr;
    if (entry->d_tag == DT_SYMTAB) imports.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
    if (entry->d_tag == DT_STRTAB) imports.names = reinterpret_cast<const char*>(address);
    if (entry->d_tag == DT_JMPREL) imports.begin = reinterpret_cast<const ElfW(Rela)*>(address);
    if (entry->d_tag == DT_PLTRELSZ) imports.bytes = entry->d_un.d_val;
  }
  return imports;
}

// Where the library keeps the address of a function that it calls; null where it calls none of that name.
void** slot_of(const link_map& map, const char* function) {
  const Imports imports = imports_of(map);
  if (imports.symbols == nullptr || imports.names == nullptr || imports.begin == nullptr) return nullptr;
  const ElfW(Rela)* const end = imports.begin + imports.bytes / sizeof(ElfW(Rela));
  for (const ElfW(Rela)* one = imports.begin; one != end; ++one) {
    const ElfW(Sym)& symbol = imports.symbols[ELF64_R_SYM(one->r_info)];
    if (ELF64_R_TYPE(one->r_info) != R_X86_64_JUMP_SLOT) continue;
    if (std::strcmp(imports.names + symbol.st_name, function) != 0) continue;
    return reinterpret_cast<void**>(map.l_addr + one->r_offset);
  }
  return nullptr;
}

// The part of a library that the loader writes and then protects.
struct Protected {
  ElfW(Addr) library;  // its load address
  std::uintptr_t slot;
  bool found = false;
};

int look_for_slot(dl_phdr_info* info, std::size_t, void* data) {
  auto& wanted = *static_cast<Protected*>(data);
  if (info->dlpi_addr != wanted.library) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_GNU_RELRO && wanted.slot >= begin && wanted.slot < begin + part.p_memsz) wanted.found = true;
  }
  return 1;
}

bool bind(const link_map& map, void** slot, void* function) {
  std::atomic_ref<void*> place(*slot);
  if (place.load() == function) return true;
  Protected wanted{map.l_addr, reinterpret_cast<std::uintptr_t>(slot)};
  dl_iterate_phdr(look_for_slot, &wanted);
  const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  void* page = reinterpret_cast<void*>(wanted.slot / page_bytes * page_bytes);
  if (wanted.found && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return false;
  place.store(function);
  if (wanted.found) mprotect(page, page_bytes, PROT_READ);
  return true;
}

}  // namespace

bool keep_signals_from(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return false;
  void** slot = slot_of(*map, "signal");
  return slot != nullptr && bind(*map, slot, reinterpret_cast<void*>(signal_that_is_ignored));
}

}  // namespace cubinet::jit
