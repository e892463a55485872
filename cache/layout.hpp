// Where things are in a root.
//
//   <root>/FORMAT                        marker and format version
//   <root>/CACHEDIR.TAG                  tells backup programs to pass by
//   <root>/objects/ab/cdef….cubin        the entry whose key is abcdef…, see object_format.hpp
//   <root>/index.db                      SQLite, can be rebuilt from the objects
//   <root>/locks/ tmp/ quarantine/       lock files, files being written, damaged files set aside
//   <root>/pins/ in_use/                 entries that are not evicted: see pins.hpp, lease.hpp
//   <root>/problems/                     what engines asked for: see recorded_problems.hpp
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/key.hpp"
#include "util/expected.hpp"

namespace cubinet::cache {

struct Layout {
  std::filesystem::path root;

  [[nodiscard]] std::filesystem::path format() const { return root / "FORMAT"; }
  [[nodiscard]] std::filesystem::path tag() const { return root / "CACHEDIR.TAG"; }
  [[nodiscard]] std::filesystem::path objects() const { return root / "objects"; }
  [[nodiscard]] std::filesystem::path index() const { return root / "index.db"; }
  [[nodiscard]] std::filesystem::path index_journal() const { return root / "index.db-journal"; }
  [[nodiscard]] std::filesystem::path locks() const { return root / "locks"; }
  // The lock of whoever evicts.
  [[nodiscard]] std::filesystem::path collecting() const { return locks() / "collect"; }
  // The lock of whoever changes a record in problems/.
  [[nodiscard]] std::filesystem::path recording() const { return locks() / "problems"; }
  // Of every key that begins with the same two digits.
  [[nodiscard]] std::filesystem::path claim(const Key& key) const { return locks() / key.hex().substr(0, 2); }
  [[nodiscard]] std::filesystem::path tmp() const { return root / "tmp"; }
  [[nodiscard]] std::filesystem::path quarantine() const { return root / "quarantine"; }
  [[nodiscard]] std::filesystem::path pins() const { return root / "pins"; }
  [[nodiscard]] std::filesystem::path pin(const Key& key) const { return pins() / key.hex(); }
  [[nodiscard]] std::filesystem::path in_use() const { return root / "in_use"; }
  [[nodiscard]] std::filesystem::path problems() const { return root / "problems"; }
  [[nodiscard]] std::filesystem::path object(const Key& key) const;

  // The key that a file objects/<folder>/<file> stands for; nothing when the names are not such (lower case only).
  static std::optional<Key> object_key(std::string_view folder, std::string_view file);
};

// Whether there is something, a link that leads nowhere too.
bool is_there(const std::filesystem::path& path);

// Whether it is a folder, and no link to one, which would lead out of the root.
bool is_folder(const std::filesystem::path& path);

// Names in a folder. A folder that is not there has none.
Expected<std::vector<std::string>> names_in(const std::filesystem::path& folder);

}  // namespace cubinet::cache
