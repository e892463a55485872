#include "cache/root.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <system_error>

#include "cache/ownership.hpp"
#include "util/files.hpp"
#include "util/system_calls.hpp"

namespace cubinet::cache {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view format_text = "cubinet cabinet 1\n";
constexpr std::string_view format_word = "cubinet cabinet ";
constexpr std::string_view echo_format = "echo cubinet cabinet 1";  // in a shell
constexpr std::uint64_t max_format_bytes = 4096;
// Prefix of the file that becomes FORMAT, which a killed creator leaves. A folder with only such files counts as empty.
constexpr std::string_view unfinished_format_prefix = "FORMAT.";
constexpr std::string_view tag_text =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This folder is a cache of compiled kernels made by Cubinet; its contents can be made again.\n"
    "# See https://bford.info/cachedir/ for what this file is.\n";

tl::unexpected<Error> unusable(std::string message) { return fail(ErrorCode::cache_unusable, std::move(message)); }

// The path of a root, and whether it exists.
struct Place {
  fs::path named;  // as the caller named it; perhaps a link
  Layout layout;   // with its real path, so that no link is followed from now on
  bool exists = false;
  bool own = false;  // the caller's subfolder of a folder that everybody may write
};

// Checks who owns and may write a root; see open_root.
Expected<void> check_owner(const Place& place) {
  const fs::path& root = place.named;
  struct stat folder {};
  if (::stat(place.layout.root.c_str(), &folder) != 0) {
    const int reason = errno;
    std::error_code no_link;
    const fs::path target = fs::read_symlink(root, no_link);
    if (no_link) return unusable(util::system_message("examine the cabinet", root, reason));
    return unusable(
        fmt::format("the cabinet {} is a link to {}, which does not exist: create that folder, or name "
                    "another",
                    root.native(), target.native()));
  }
  if (!S_ISDIR(folder.st_mode)) {
    return unusable(
        fmt::format("the cabinet {} is not a folder; a bundle is named in CUBINET_CACHE_PATH, or unpacked "
                    "into one by `cubinet cache import`",
                    root.native()));
  }
  return check_trust(root, folder, "cabinet");
}

// Whether `path` can be left by a writer while the cabinet is emptied: a folder of the cabinet with no files but locks.
bool is_empty_part(const fs::path& path) {
  const std::string name = path.filename().native();
  if (name == "index.db" || name == "index.db-journal" || name == "CACHEDIR.TAG") {
    std::error_code error;
    return fs::is_regular_file(fs::symlink_status(path, error));
  }
  constexpr std::array<std::string_view, 6> folders = {"objects", "locks", "tmp", "quarantine", "pins", "in_use"};
  if (std::find(folders.begin(), folders.end(), name) == folders.end() || !is_folder(path)) return false;
  std::error_code error;
  fs::recursive_directory_iterator it(path, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    const bool lock = name == "locks" && it.depth() == 0 && it->is_regular_file(error);
    if (!lock && !is_folder(it->path())) return false;
  }
  return !error;
}

bool is_unfinished_format(std::string_view name) {
  if (!name.starts_with(unfinished_format_prefix) || name.size() == unfinished_format_prefix.size()) return false;
  const char next = name[unfinished_format_prefix.size()];
  return next >= '0' && next <= '9';
}

Expected<bool> holds_nothing(const fs::path& root) {
  std::error_code error;
  fs::directory_iterator it(root, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    const fs::path& path = it->path();
    const bool nothing =
        is_unfinished_format(path.filename().native()) || is_lost_and_found(path) || is_empty_part(path);
    if (!nothing) return false;
  }
  if (error) return unusable(util::system_message("list", root, error.value()));
  return true;
}

// Returns the contents of FORMAT; nullopt if there is none.
Expected<std::optional<std::string>> read_format(const Layout& layout) {
  auto text = util::read_file(layout.format(), max_format_bytes, false);
  if (text) return std::optional<std::string>(std::move(*text));
  if (text.error().code == ErrorCode::not_found) return std::optional<std::string>();
  return unusable(text.error().message);
}

Expected<void> check_format(const Layout& layout, std::string_view text) {
  if (text == format_text) return {};
  if (!text.starts_with(format_word)) {
    return unusable(fmt::format("{} is not the mark of a cabinet", layout.format().native()));
  }
  std::string version(text.substr(format_word.size(), 20));
  while (!version.empty() && (version.back() == '\n' || version.back() == '\r')) version.pop_back();
  if (version == "1") {
    return unusable(fmt::format("the file {0} was changed, perhaps by an editor: restore it with `{1} > {0}`",
                                layout.format().native(), echo_format));
  }
  return unusable(
      fmt::format("the cabinet {} has format {}, and this build reads format 1: use the build that made it, "
                  "or another folder",
                  layout.root.native(), version));
}

// The parts of a root must be folders: a link could lead out of the root.
Expected<void> check_parts(const Layout& layout) {
  for (const auto& part : {layout.objects(), layout.locks(), layout.tmp(), layout.quarantine(), layout.pins(),
                           layout.in_use(), layout.problems()}) {
    std::error_code error;
    const auto status = fs::symlink_status(part, error);
    if (fs::exists(status) && !fs::is_directory(status)) {
      return unusable(fmt::format("{} is not a folder", part.native()));
    }
  }
  return {};
}

std::array<fs::path, 4> parts_of(const Layout& layout) {
  return {layout.objects(), layout.locks(), layout.tmp(), layout.quarantine()};
}

bool has_parts(const Layout& layout) {
  const auto parts = parts_of(layout);
  return std::all_of(parts.begin(), parts.end(), is_there);
}

// Creates the missing parts. The tag comes last, after a sync of the rest, so that a complete root needs no sync when
// it is opened.
Expected<void> make_parts(const Layout& layout, util::SystemCalls& calls) {
  if (is_there(layout.tag()) && has_parts(layout)) return {};
  // After a loss of power no part of a cabinet may exist without FORMAT.
  if (auto synced = util::sync_folder(calls, layout.root); !synced) return synced;
  for (const auto& part : parts_of(layout)) {
    if (auto made = util::make_folder(calls, part, 0755); !made) return made;
  }
  if (auto synced = util::sync_folder(calls, layout.root); !synced) return synced;
  const auto tagged = util::publish_file(calls, layout.tmp(), layout.tag(), {tag_text});
  if (!tagged) return propagate(tagged);
  return {};
}

Expected<void> make_root_folder(const fs::path& root, util::SystemCalls& calls) {
  const fs::path parent = root.parent_path();
  std::error_code error;
  if (!parent.empty() && parent != root && !fs::exists(parent, error)) {
    if (auto made = make_root_folder(parent, calls); !made) return made;
  }
  if (auto made = util::make_folder(calls, root, 0700); !made) return unusable(made.error().message);
  return {};
}

// Syncs the names of the root and of the folders above it, since their creator may have been killed before its sync.
// Best effort: some may belong to other users and not be readable.
void sync_names(const fs::path& root, util::SystemCalls& calls) {
  for (fs::path above = root; above.has_relative_path();) {
    above = above.parent_path();
    static_cast<void>(util::sync_folder(calls, above));
  }
}

// Marks an empty folder as a root. FORMAT is published first, so that a folder with any other part has FORMAT, too.
Expected<void> mark(const Layout& layout, util::SystemCalls& calls) {
  sync_names(layout.root, calls);
  const auto published = util::publish_file(calls, layout.root, layout.format(), {format_text});
  if (!published) return unusable(published.error().message);
  return {};
}

// See Root::chowning.
std::unique_ptr<util::SystemCalls> chowning_calls(const fs::path& root, util::SystemCalls& calls) {
  struct stat folder {};
  const bool foreign = ::geteuid() == 0 && ::stat(root.c_str(), &folder) == 0 && folder.st_uid != 0;
  if (!foreign) return nullptr;
  return std::make_unique<util::ChowningCalls>(calls, folder.st_uid, folder.st_gid);
}

std::string why_not_writable(const Layout& layout) {
  for (const auto& folder : {layout.root, layout.objects(), layout.tmp()}) {
    if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0) continue;
    // A missing part is created if the root can be written.
    if (errno != ENOENT) return util::system_message("write in", folder, errno);
  }
  return {};
}

Expected<Root> open_marked(const Layout& layout, util::SystemCalls& calls) {
  if (auto checked = check_parts(layout); !checked) return propagate(checked);
  Root root{layout, Persistence::on, why_not_writable(layout)};
  if (root.readonly_reason.empty()) {
    // A full disk also makes the cabinet read-only: its entries can still be read.
    if (auto made = make_parts(layout, calls); !made) root.readonly_reason = made.error().message;
  }
  if (!root.readonly_reason.empty()) root.persistence = Persistence::readonly;
  return root;
}

// The message for a folder with other things in it and no FORMAT. With our tag in it, it was a cabinet.
std::string why_no_cabinet(const Layout& layout) {
  const auto tag = util::read_file(layout.tag(), tag_text.size(), false);
  if (!tag || *tag != tag_text) {
    return fmt::format("the folder {} holds other files and is not a cabinet: name an empty or a new folder",
                       layout.root.native());
  }
  return fmt::format(
      "the cabinet {} has no file FORMAT: if nothing else was changed there, restore it "
      "with `{} > {}`; or name another folder",
      layout.root.native(), echo_format, layout.format().native());
}

// Returns the contents of FORMAT, after marking an empty folder if `create` is set.
Expected<std::string> read_or_make_format(const Layout& layout, bool create, util::SystemCalls& calls) {
  auto format = read_format(layout);
  if (!format) return propagate(format);
  if (*format) return std::move(**format);
  const auto empty = holds_nothing(layout.root);
  if (!empty) return propagate(empty);
  if (!*empty) {
    // Another process may have marked the folder between the two checks.
    format = read_format(layout);
    if (format && *format) return std::move(**format);
    return unusable(why_no_cabinet(layout));
  }
  if (!create) return fail(ErrorCode::not_found, fmt::format("{} is empty, not a cabinet", layout.root.native()));
  if (auto marked = mark(layout, calls); !marked) return propagate(marked);
  return std::string(format_text);
}

// Returns an absolute path without a slash at its end, so that a later change of the working folder does not matter.
Expected<fs::path> absolute_root(const fs::path& path) {
  if (path.empty()) return unusable("no folder is named for the cabinet");
  if (path.native().starts_with('~')) return unusable(unexpanded_home(path.native()));
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error).lexically_normal();
  if (error) return unusable(util::system_message("find", path, error.value()));
  return absolute.has_filename() ? absolute : absolute.parent_path();
}

Expected<Place> find_place(const fs::path& path) {
  auto absolute = absolute_root(path);
  if (!absolute) return propagate(absolute);
  std::error_code error;
  const auto status = fs::symlink_status(*absolute, error);
  if (status.type() == fs::file_type::none) {
    return unusable(util::system_message("examine the cabinet", *absolute, error.value()));
  }
  auto real = fs::weakly_canonical(*absolute, error);
  if (error) return unusable(util::system_message("reach the cabinet", *absolute, error.value()));
  return Place{std::move(*absolute), Layout{std::move(real)}, fs::exists(status)};
}

// Returns the place of the cabinet, which may be a subfolder of the named folder.
Expected<Place> find_cabinet(const fs::path& path) {
  auto place = find_place(path);
  if (!place || !place->exists) return place;
  auto own = own_folder_in(place->layout.root);
  if (!own) return place;
  place->exists = is_there(*own);
  place->named = *own;
  place->layout.root = std::move(*own);
  place->own = true;
  return place;
}

Expected<void> check_place(const Place& place) {
  return place.own ? check_own_folder(place.layout.root) : check_owner(place);
}

void note_own_folder(const Place& place, Root& root) {
  if (!place.own) return;
  root.own_files_only = true;
  root.notice = own_folder_notice(place.layout.root);
}

tl::unexpected<Error> absent(const Layout& layout) {
  return fail(ErrorCode::not_found, fmt::format("there is no cabinet at {}", layout.root.native()));
}

}  // namespace

Expected<Root> open_root(const fs::path& path, bool create, util::SystemCalls& calls) {
  const auto place = find_cabinet(path);
  if (!place) return propagate(place);
  const Layout& layout = place->layout;
  if (!place->exists) {
    if (!create) return absent(layout);
    if (auto made = make_root_folder(layout.root, calls); !made) return propagate(made);
  }
  if (auto trusted = check_place(*place); !trusted) return propagate(trusted);
  auto chowning = chowning_calls(layout.root, calls);
  util::SystemCalls& makers = chowning ? *chowning : calls;
  const auto format = read_or_make_format(layout, create, makers);
  if (!format) return propagate(format);
  if (auto known = check_format(layout, *format); !known) return propagate(known);
  auto root = open_marked(layout, makers);
  if (!root) return root;
  root->chowning = std::move(chowning);
  note_own_folder(*place, *root);
  return root;
}

Expected<void> restore_root(const Layout& layout, util::SystemCalls& calls) {
  const auto format = read_format(layout);
  if (!format) return propagate(format);
  const bool has_all = has_parts(layout);
  if (*format) {
    if (auto known = check_format(layout, **format); !known) return known;  // another cabinet has replaced it
    return has_all ? Expected<void>() : make_parts(layout, calls);
  }
  if (has_all) return mark(layout, calls);
  return fail(ErrorCode::no_room, fmt::format("the cabinet {} was removed meanwhile", layout.root.native()));
}

std::string unexpanded_home(std::string_view path) {
  return fmt::format(
      "{0} begins with ~, which only a shell expands, and only at the beginning of a word: write the whole "
      "path, as in $HOME/.cache, or ./{0} for a folder of that name",
      path);
}

Expected<Root> open_layer(const fs::path& path) {
  const auto place = find_cabinet(path);
  if (!place) return propagate(place);
  const Layout& layout = place->layout;
  if (!place->exists) return absent(layout);
  if (auto trusted = check_place(*place); !trusted) return propagate(trusted);
  const auto format = read_or_make_format(layout, false, util::system_calls());  // without `create` it only reads
  if (!format) return propagate(format);
  if (auto known = check_format(layout, *format); !known) return propagate(known);
  if (auto checked = check_parts(layout); !checked) return propagate(checked);
  Root root{layout, Persistence::readonly, "it was opened as a layer, which is only read"};
  note_own_folder(*place, root);
  return root;
}

}  // namespace cubinet::cache
