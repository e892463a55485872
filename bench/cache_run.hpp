// What a hit in the cabinet costs, and opening and listing a root of many entries.
#pragma once

#include <filesystem>
#include <vector>

#include "util/expected.hpp"

namespace cubinet::bench {

struct CacheOptions {
  std::filesystem::path place;  // for roots of the benchmark's own, which are removed
  int payload_kib = 40;
  std::vector<int> sizes{100, 100'000};  // entries of the roots
  int rounds = 2000;
};

// Medians, in microseconds, of a root with so many entries.
struct CacheFigures {
  int entries = 0;
  double open_us = 0;    // to open the root
  double list_us = 0;    // to list all of it from its index, as `cubinet cache ls` does before it prints
  double hit_us = 0;     // to look an entry up: open, read, check every byte, return
  double read_us = 0;    // of that: open the file and read it
  double digest_us = 0;  // of that: SHA-256 over all the bytes of the file, once
};

// Errors of the cabinet, and of files that cannot be made. Removes what it made.
Expected<std::vector<CacheFigures>> run_cache(const CacheOptions& options);

}  // namespace cubinet::bench
