// Times a hit in the cabinet, and opening and listing a root with many entries.
#pragma once

#include <filesystem>
#include <vector>

#include "util/expected.hpp"

namespace cubinet::bench {

struct CacheOptions {
  std::filesystem::path place;  // folder for temporary roots, which are removed
  int payload_kib = 40;
  std::vector<int> sizes{100, 100'000};  // numbers of entries, one root each
  int rounds = 2000;
};

// Medians in microseconds for a root with `entries` entries.
struct CacheFigures {
  int entries = 0;
  double open_us = 0;    // opening the root
  double list_us = 0;    // listing all entries from the index, as `cubinet cache ls` does before it prints
  double hit_us = 0;     // a look-up: open, read, verify every byte, return
  double read_us = 0;    // part of hit_us: opening and reading the file
  double digest_us = 0;  // part of hit_us: one SHA-256 of the whole file
};

// Errors: those of the cabinet, and files that cannot be created. Removes its files.
Expected<std::vector<CacheFigures>> run_cache(const CacheOptions& options);

}  // namespace cubinet::bench
