// Opens a root: which folders are accepted, created or refused.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cache/layout.hpp"
#include "cache/options.hpp"
#include "util/system_calls.hpp"

namespace cubinet::cache {

struct Root {
  Layout layout;
  Persistence persistence = Persistence::on;
  std::string readonly_reason;  // why it cannot be written; empty when it can
  // System calls to use here in place of the caller's, when the caller is root and the folder belongs to another user:
  // they give each created file to that user, who could not replace or remove it otherwise. Else null.
  std::unique_ptr<util::SystemCalls> chowning{};
  // One line for the user when the cabinet lies in a subfolder of the named folder; else empty.
  std::string notice{};
  // Others may replace the folder: only files that belong to the caller are used. See ownership.hpp.
  bool own_files_only = false;
};

// Accepts a folder with the marker FORMAT. With `create`, creates one when there is no folder (its parents too) or the
// folder is empty; a folder with only lost+found, or with the remains of a cabinet that was emptied during a write,
// counts as empty. In a folder that everybody may write it uses the caller's own subfolder (ownership.hpp), if the
// folder holds nothing else. Errors, with nothing changed:
//   not_found       the folder is missing or empty, and `create` is false
//   cache_unusable  not a folder; a folder with other things in it; an unknown format; a folder or link that belongs to
//                   a user other than the caller and root (unless the caller is root); a folder that everybody may
//                   write and that has other things in it; a path that begins with ~, which only a shell expands;
//                   a part of the root that is a symbolic link; a folder that cannot be created
// Safe when several processes create the same root at once, and after a creator was killed. `calls` must outlive the
// result.
Expected<Root> open_root(const std::filesystem::path& path, bool create, util::SystemCalls& calls);

// Restores missing parts of a root that open_root created or accepted: FORMAT if all folders exist, the folders if
// FORMAT exists. no_room if neither is complete: the cabinet was removed, and is not created again. Other errors are
// those of a write into the root.
Expected<void> restore_root(const Layout& layout, util::SystemCalls& calls);

// The message for a path that begins with ~.
std::string unexpanded_home(std::string_view path);

// Accepts the same folders as open_root without `create`, and changes nothing: no part is created, and the root is
// read-only whatever its permissions.
Expected<Root> open_layer(const std::filesystem::path& path);

}  // namespace cubinet::cache
