// The paths in a root.
//
//   <root>/FORMAT                        marker and format version
//   <root>/CACHEDIR.TAG                  tells backup programs to skip the folder
//   <root>/objects/ab/cdef….cubin        the entry whose key is abcdef…, see object_format.hpp
//   <root>/index.db                      SQLite; can be rebuilt from the objects
//   <root>/locks/ tmp/ quarantine/       lock files, files being written, damaged files
//   <root>/pins/ in_use/                 entries that are not evicted, see kept_entries.hpp
//   <root>/problems/                     problems that engines asked for, see recorded_problems.hpp
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
  // The lock of the process that evicts.
  [[nodiscard]] std::filesystem::path collecting() const { return locks() / "collect"; }
  // The lock of the process that changes a file in problems/.
  [[nodiscard]] std::filesystem::path recording() const { return locks() / "problems"; }
  // The claim file; keys that begin with the same two digits share it.
  [[nodiscard]] std::filesystem::path claim(const Key& key) const { return locks() / key.hex().substr(0, 2); }
  [[nodiscard]] std::filesystem::path tmp() const { return root / "tmp"; }
  [[nodiscard]] std::filesystem::path quarantine() const { return root / "quarantine"; }
  [[nodiscard]] std::filesystem::path pins() const { return root / "pins"; }
  [[nodiscard]] std::filesystem::path pin(const Key& key) const { return pins() / key.hex(); }
  [[nodiscard]] std::filesystem::path in_use() const { return root / "in_use"; }
  [[nodiscard]] std::filesystem::path problems() const { return root / "problems"; }
  [[nodiscard]] std::filesystem::path object(const Key& key) const;

  // The key of the file objects/<folder>/<file>; nullopt if these are not the names of an object (lower case only).
  static std::optional<Key> object_key(std::string_view folder, std::string_view file);
};

// Whether something has this path, including a dangling link.
bool is_there(const std::filesystem::path& path);

// Whether it is a folder and not a link to one, which could lead out of the root.
bool is_folder(const std::filesystem::path& path);

// Returns the names in a folder; none for a folder that does not exist. io when it cannot be listed.
Expected<std::vector<std::string>> names_in(const std::filesystem::path& folder);

}  // namespace cubinet::cache
