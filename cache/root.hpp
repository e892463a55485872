// Opening a root: what is accepted, what is made, what is refused.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cache/cabinet.hpp"
#include "cache/layout.hpp"
#include "util/system_calls.hpp"

namespace cubinet::cache {

struct Root {
  Layout layout;
  Persistence persistence = Persistence::on;
  std::string readonly_reason;  // why it cannot be written; empty when it can
  // What is to make files here in the place of the caller's calls: root gives what it makes in another user's folder to
  // that user, who could not replace or remove it otherwise. Null: whoever makes a file keeps it.
  std::unique_ptr<util::SystemCalls> giving{};
  // What was done that the caller did not ask for, in one line; else empty.
  std::string notice{};
  // Others may put another folder in its place: only files that belong to the caller are believed. See own_folder.hpp.
  bool own_files_only = false;
};

// Accepts a folder marked by FORMAT; with `create` makes one when there is none (parents too) or the folder is empty,
// but for lost+found and what is left of a cabinet that was emptied under a writer. In the place of a folder that
// everybody may write it takes a subfolder of the caller's own (own_folder.hpp), if nothing else is in there. Errors,
// with nothing changed:
//   not_found       nothing there, or an empty folder, and no `create`
//   cache_unusable  not a folder; a folder with other things in it; an unknown format; a folder or link that belongs to
//                   another user than the caller and root (unless root asks); a folder that everybody may write and
//                   that has other things in it; a path that begins with ~, which only a shell expands;
//                   a part of the root that is a symbolic link; no way to create it
// Safe when several processes create the same root at once, and after a creator was killed. `calls` must outlive it.
Expected<Root> open_root(const std::filesystem::path& path, bool create, util::SystemCalls& calls);

// Puts back what has vanished from a root that open_root made or accepted: its mark where all folders are there, its
// folders where the mark is. no_room where neither is whole: whoever removed a cabinet gets no new one from those who
// still write. Else as a write into the root fails.
Expected<void> restore_root(const Layout& layout, util::SystemCalls& calls);

// Why a folder cannot be named by a path that begins with ~.
std::string unexpanded_home(std::string_view path);

// Accepts what open_root does without `create`, and changes nothing: no part is made, and the root is read-only
// whatever its modes say.
Expected<Root> open_layer(const std::filesystem::path& path);

}  // namespace cubinet::cache
