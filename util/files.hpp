// Whole files: bounded reads, and writes that are either complete and durable or not there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "util/expected.hpp"
#include "util/system_calls.hpp"

namespace cubinet::util {

// A descriptor that closes itself. Closing can fail after a write: writers call close() and look at what it says.
class File {
 public:
  File() = default;
  File(int descriptor, SystemCalls& calls) : descriptor_(descriptor), calls_(&calls) {}
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  [[nodiscard]] int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }
  // 0, or -1 and errno. The descriptor is gone in either case.
  int close();

 private:
  int descriptor_ = -1;
  SystemCalls* calls_ = nullptr;
};

// A regular file, open for reading, and its size when it was opened.
struct OpenedFile {
  File file;
  std::uint64_t bytes = 0;
};

// Errors as from read_file.
Expected<OpenedFile> open_file(const std::filesystem::path& path, bool follow_links = true);

// `bytes` bytes from `offset` on, fewer only where the file ends before. io on failure. Moves no position, so that
// threads and both sides of a fork may share the descriptor.
Expected<std::string> read_at(const File& file, std::uint64_t offset, std::size_t bytes,
                              const std::filesystem::path& name);

// The whole of a regular file of at most `max_bytes`. not_found when there is none; invalid_argument when it is
// larger or not a regular file; io otherwise. Never waits on a pipe and never follows a link at the last component
// unless `follow_links`.
Expected<std::string> read_file(const std::filesystem::path& path, std::uint64_t max_bytes, bool follow_links = true);

// The same without following links, of a file that belongs to the calling user and that nobody else may write; io when
// it is another's.
Expected<std::string> read_own_file(const std::filesystem::path& path, std::uint64_t max_bytes);

// Writes all the bytes: goes on after a short write or a signal. io or no_room on failure.
Expected<void> write_all(SystemCalls& calls, int file, std::string_view bytes, const std::filesystem::path& name);

// `path` with no link in the folders that lead to its last name, which is as it was. Error: why one cannot be reached.
Expected<std::filesystem::path> real_path(const std::filesystem::path& path);

// Makes the folder's entries durable. A file system that cannot (EINVAL) is taken as it is.
Expected<void> sync_folder(SystemCalls& calls, const std::filesystem::path& folder);

// Makes a folder; success when it is already there (as a folder, not as a link to one). `mode` is subject to the umask.
Expected<void> make_folder(SystemCalls& calls, const std::filesystem::path& folder, mode_t mode);

// A name that no other live process or thread uses: `prefix` + process id + counter + random digits.
std::string unique_name(std::string_view prefix);

enum class Published { first, already_there };

// What becomes of a file that has the name already.
enum class Existing { kept, replaced };

// Publishes the concatenation of `pieces` as `target`, complete and durable, or leaves nothing behind: an exclusive
// temporary file in `staging` (same file system), write, fsync, close, link to `target`, unlink, fsync of the folder.
// The first publisher wins; for the others it is already_there. While it is being written the temporary file is
// locked (flock), so that a sweeper can tell it from the leftover of a killed writer. The file's mode is 0644 less
// the umask. Safe against concurrent publishers in any process. With Existing::replaced it takes the place of what is
// there by a rename, and is always `first`; after an error the old or the new file is there, whole.
Expected<Published> publish_file(SystemCalls& calls, const std::filesystem::path& staging,
                                 const std::filesystem::path& target, const std::vector<std::string_view>& pieces,
                                 Existing existing = Existing::kept);

// Whether what was written is there after a loss of power, too.
enum class Durability { synced, none };

// Makes `target`, or replaces it, by the concatenation of `pieces`, whole at every moment, or leaves it as it was: a
// temporary file beside it as above, then a rename. It follows no link. io or no_room on failure; what is there and is
// no regular file (a device must not be replaced) is refused (invalid_argument).
Expected<void> replace_file(SystemCalls& calls, const std::filesystem::path& target,
                            const std::vector<std::string_view>& pieces, Durability durability = Durability::synced);

// "cannot VERB NAME: the system's words for errno".
std::string system_message(std::string_view verb, const std::filesystem::path& name, int error);

// The error with that message: no_room where the next write fails, too: a disk full or read-only, a limit; else io.
tl::unexpected<Error> fail_system(std::string_view verb, const std::filesystem::path& name, int error);

}  // namespace cubinet::util
