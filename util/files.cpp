#include "util/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <random>
#include <system_error>
#include <utility>

namespace cubinet::util {
namespace {

// Like fail_system(), but a missing file is not_found.
tl::unexpected<Error> fail_to_find(std::string_view verb, const std::filesystem::path& name, int error) {
  if (error == ENOENT) return fail(ErrorCode::not_found, system_message(verb, name, error));
  return fail_system(verb, name, error);
}

// Removes the temporary file on every path, including success: `target` is a second link to it then.
class Staged {
 public:
  Staged(SystemCalls& calls, std::filesystem::path path) : calls_(calls), path_(std::move(path)) {}
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;
  ~Staged() {
    if (!gone_) calls_.unlink(path_.native());
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  void gone() { gone_ = true; }

 private:
  SystemCalls& calls_;
  std::filesystem::path path_;
  bool gone_ = false;
};

// Creates and fills the temporary file. It stays open (and locked) in the returned handle. Error messages call it
// `name`.
Expected<File> write_staged(SystemCalls& calls, const Staged& staged, const std::vector<std::string_view>& pieces,
                            const std::filesystem::path& name, Durability durability) {
  File file(calls.open(staged.path().native(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644), calls);
  if (!file) return fail_system("create", name, errno);
  // The lock is only a mark for sweepers; a file system without locks works without it.
  static_cast<void>(::flock(file.get(), LOCK_EX | LOCK_NB));
  for (const std::string_view piece : pieces) {
    if (auto written = write_all(calls, file.get(), piece, name); !written) return propagate(written);
  }
  if (durability == Durability::synced && calls.fsync(file.get()) != 0) return fail_system("sync", name, errno);
  return file;
}

// The errors of file systems that do not support hard links, or not here. If there is another cause, the rename that
// follows fails as well.
bool links_unsupported(int error) {
  return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EACCES || error == EMLINK ||
         error == EXDEV;
}

// The error of a staged file that could not be named: not_found if the staged file itself no longer exists, never
// because of the target's folder.
tl::unexpected<Error> fail_to_name(std::string_view verb, const Staged& staged, const std::filesystem::path& target,
                                   int error) {
  struct stat status {};
  const bool gone = error == ENOENT && ::lstat(staged.path().c_str(), &status) != 0;
  if (gone) return fail(ErrorCode::not_found, system_message(verb, staged.path(), error));
  return fail_system(verb, target, error);
}

// Gives the staged file its final name. Without hard links it is renamed, which replaces a complete file by an equal
// one.
Expected<Published> give_name(SystemCalls& calls, Staged& staged, const std::filesystem::path& target) {
  if (calls.link(staged.path().native(), target.native()) == 0) return Published::first;
  const int error = errno;
  if (error == EEXIST) return Published::already_there;
  if (!links_unsupported(error)) return fail_to_name("link", staged, target, error);
  if (calls.rename(staged.path().native(), target.native()) != 0) {
    return fail_to_name("rename to", staged, target, errno);
  }
  staged.gone();
  return Published::first;
}

// Replaces the target by the staged file. It is closed first: if that fails, the old file stays.
Expected<Published> take_place(SystemCalls& calls, Staged& staged, File& file, const std::filesystem::path& target) {
  if (file.close() != 0) return fail_system("close", target, errno);
  if (calls.rename(staged.path().native(), target.native()) != 0) {
    return fail_to_name("rename to", staged, target, errno);
  }
  staged.gone();
  if (auto synced = sync_folder(calls, target.parent_path()); !synced) return propagate(synced);
  return Published::first;
}

Expected<Published> publish_once(SystemCalls& calls, const std::filesystem::path& staging,
                                 const std::filesystem::path& target, const std::vector<std::string_view>& pieces,
                                 Existing existing) {
  Staged staged(calls, staging / unique_name(target.filename().native() + "."));
  auto file = write_staged(calls, staged, pieces, staged.path(), Durability::synced);
  if (!file) return propagate(file);
  if (existing == Existing::replaced) return take_place(calls, staged, *file, target);
  const auto named = give_name(calls, staged, target);
  if (!named) return named;
  if (*named == Published::already_there) {
    // The other publisher may not have synced the folder yet, or may have been killed before it did.
    if (auto synced = sync_folder(calls, target.parent_path()); !synced) return propagate(synced);
    return named;
  }
  // close() reports a delayed write error (NFS, quota). The name is removed then, since the content is unknown.
  const bool closed = file->close() == 0;
  const int close_error = errno;
  const auto synced = sync_folder(calls, target.parent_path());
  if (closed && synced) return named;
  calls.unlink(target.native());
  if (!closed) return fail_system("close", target, close_error);
  return propagate(synced);
}

}  // namespace

File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), calls_(std::exchange(other.calls_, nullptr)) {}

File& File::operator=(File&& other) noexcept {
  if (this == &other) return *this;
  close();
  descriptor_ = std::exchange(other.descriptor_, -1);
  calls_ = std::exchange(other.calls_, nullptr);
  return *this;
}

File::~File() { close(); }

int File::close() {
  if (descriptor_ < 0) return 0;
  // Not retried after a signal: Linux releases the descriptor even then.
  return calls_->close(std::exchange(descriptor_, -1));
}

std::string system_message(std::string_view verb, const std::filesystem::path& name, int error) {
  return fmt::format("cannot {} {}: {}", verb, name.native(), std::generic_category().message(error));
}

tl::unexpected<Error> fail_system(std::string_view verb, const std::filesystem::path& name, int error) {
  const bool no_room =
      error == ENOSPC || error == EDQUOT || error == EROFS || error == EFBIG || error == EMFILE || error == ENFILE;
  return fail(no_room ? ErrorCode::no_room : ErrorCode::io, system_message(verb, name, error));
}

std::string unique_name(std::string_view prefix) {
  static std::atomic<std::uint64_t> counter{0};
  // The random part distinguishes processes with the same id in different containers that share a folder.
  std::random_device random;
  return fmt::format("{}{}-{}-{:08x}", prefix, ::getpid(), counter.fetch_add(1), random());
}

Expected<OpenedFile> open_file(const std::filesystem::path& path, bool follow_links) {
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (follow_links ? 0 : O_NOFOLLOW);
  File file(::open(path.c_str(), flags), system_calls());
  if (!file) {
    if (errno == ELOOP && !follow_links) {
      return fail(ErrorCode::invalid_argument, fmt::format("{} is a symbolic link", path.native()));
    }
    return fail_to_find("open", path, errno);
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fail_system("examine", path, errno);
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::invalid_argument, fmt::format("{} is not a regular file", path.native()));
  }
  return OpenedFile{std::move(file), static_cast<std::uint64_t>(status.st_size)};
}

Expected<std::string> read_at(const File& file, std::uint64_t offset, std::size_t bytes,
                              const std::filesystem::path& name) {
  std::string content(bytes, '\0');
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(file.get(), content.data() + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_system("read", name, errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  content.resize(done);
  return content;
}

namespace {

Expected<std::string> read_opened(const OpenedFile& opened, const std::filesystem::path& path,
                                  std::uint64_t max_bytes) {
  if (opened.bytes > max_bytes) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} holds {} bytes, more than the {} allowed", path.native(), opened.bytes, max_bytes));
  }
  return read_at(opened.file, 0, static_cast<std::size_t>(opened.bytes), path);
}

}  // namespace

Expected<std::string> read_file(const std::filesystem::path& path, std::uint64_t max_bytes, bool follow_links) {
  return open_file(path, follow_links).and_then([&](const OpenedFile& opened) {
    return read_opened(opened, path, max_bytes);
  });
}

Expected<std::string> read_own_file(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const auto opened = open_file(path, false);
  if (!opened) return propagate(opened);
  struct stat status {};
  if (::fstat(opened->file.get(), &status) != 0) return fail_system("examine", path, errno);
  if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail(ErrorCode::io, fmt::format("{} is not private to this user: it belongs to user {}, mode {:o}",
                                           path.native(), status.st_uid, status.st_mode & 07777));
  }
  return read_opened(*opened, path, max_bytes);
}

Expected<void> write_all(SystemCalls& calls, int file, std::string_view bytes, const std::filesystem::path& name) {
  while (!bytes.empty()) {
    const ssize_t written = calls.write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail_system("write", name, errno);
    if (written == 0) return fail_system("write", name, ENOSPC);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Expected<std::filesystem::path> real_path(const std::filesystem::path& path) {
  std::error_code error;
  const auto folder = std::filesystem::canonical(path.has_parent_path() ? path.parent_path() : ".", error);
  if (error) return fail_system("reach", path, error.value());
  return folder / path.filename();
}

Expected<void> sync_folder(SystemCalls& calls, const std::filesystem::path& folder) {
  const File file(calls.open(folder.native(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0), calls);
  if (!file) return fail_system("open", folder, errno);
  if (calls.fsync(file.get()) != 0 && errno != EINVAL) {
    return fail_system("sync", folder, errno);
  }
  return {};
}

Expected<void> make_folder(SystemCalls& calls, const std::filesystem::path& folder, mode_t mode) {
  if (calls.mkdir(folder.native(), mode) == 0) return {};
  const int error = errno;
  std::error_code ignored;
  const auto found = std::filesystem::symlink_status(folder, ignored);
  if (error == EEXIST && std::filesystem::is_directory(found)) return {};
  return fail_system("create the folder", folder, error);
}

Expected<Published> publish_file(SystemCalls& calls, const std::filesystem::path& staging,
                                 const std::filesystem::path& target, const std::vector<std::string_view>& pieces,
                                 Existing existing) {
  auto published = publish_once(calls, staging, target, pieces, existing);
  // A sweeper may remove the temporary file between its creation and its lock; one retry is enough.
  if (!published && published.error().code == ErrorCode::not_found) {
    published = publish_once(calls, staging, target, pieces, existing);
  }
  if (!published && published.error().code == ErrorCode::not_found) published.error().code = ErrorCode::io;
  return published;
}

Expected<void> replace_file(SystemCalls& calls, const std::filesystem::path& target,
                            const std::vector<std::string_view>& pieces, Durability durability) {
  struct stat status {};
  if (::lstat(target.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} exists and is not a regular file; it is left unchanged", target.native()));
  }
  const auto real = real_path(target);
  if (!real) return propagate(real);
  const auto folder = real->parent_path();
  Staged staged(calls, folder / unique_name(".cubinet-new."));
  auto file = write_staged(calls, staged, pieces, target, durability);
  if (!file) return propagate(file);
  if (file->close() != 0) return fail_system("close", target, errno);
  if (calls.rename(staged.path().native(), real->native()) != 0) return fail_system("replace", target, errno);
  staged.gone();
  return durability == Durability::synced ? sync_folder(calls, folder) : Expected<void>();
}

}  // namespace cubinet::util
