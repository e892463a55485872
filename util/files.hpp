// Whole files: bounded reads, and writes that are either complete and durable or leave nothing behind.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "util/expected.hpp"
#include "util/system_calls.hpp"

namespace cubinet::util {

// Owns a file descriptor. Closing can fail after a write, so writers call close() and check its result.
class File {
 public:
  File() = default;
  File(int descriptor, SystemCalls& calls) : descriptor_(descriptor), calls_(&calls) {}
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  [[nodiscard]] int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }
  // Returns 0, or -1 with errno. The descriptor is released in both cases.
  int close();

 private:
  int descriptor_ = -1;
  SystemCalls* calls_ = nullptr;
};

// A regular file that is open for reading, and its size at that time.
struct OpenedFile {
  File file;
  std::uint64_t bytes = 0;
};

// Opens a regular file for reading. Errors as for read_file().
Expected<OpenedFile> open_file(const std::filesystem::path& path, bool follow_links = true);

// Reads `bytes` bytes from `offset` on; fewer only if the file ends before. io on failure. Does not move the file
// position, so that threads and both sides of a fork may share the descriptor. `name` is for error messages.
Expected<std::string> read_at(const File& file, std::uint64_t offset, std::size_t bytes,
                              const std::filesystem::path& name);

// Reads a whole regular file of at most `max_bytes`. not_found if it does not exist; invalid_argument if it is larger
// or not a regular file; io otherwise. Never waits on a pipe. Follows a symbolic link at the last name only with
// `follow_links`.
Expected<std::string> read_file(const std::filesystem::path& path, std::uint64_t max_bytes, bool follow_links = true);

// Reads a file without following links, and checks its owner: io if it belongs to another user or others may write it.
Expected<std::string> read_own_file(const std::filesystem::path& path, std::uint64_t max_bytes);

// Writes all bytes; continues after a short write or a signal. io or no_room on failure. `name` is for error messages.
Expected<void> write_all(SystemCalls& calls, int file, std::string_view bytes, const std::filesystem::path& name);

// `path` with the links among its folders resolved; the last name is not resolved. An error if a folder cannot be
// reached.
Expected<std::filesystem::path> real_path(const std::filesystem::path& path);

// Makes the folder's entries durable (fsync). A file system that does not support this (EINVAL) is accepted.
Expected<void> sync_folder(SystemCalls& calls, const std::filesystem::path& folder);

// Creates a folder. Succeeds if the folder, and not a link to one, exists already. `mode` is subject to the umask.
Expected<void> make_folder(SystemCalls& calls, const std::filesystem::path& folder, mode_t mode);

// A name that no other live process or thread uses: `prefix` + process id + counter + random digits.
std::string unique_name(std::string_view prefix);

enum class Published { first, already_there };

// What happens to a file that has the target's name already.
enum class Existing { kept, replaced };

// Publishes the concatenation of `pieces` as `target`, complete and durable, or leaves nothing behind. Steps: create an
// exclusive temporary file in `staging` (same file system), write, fsync, close, link to `target`, unlink, fsync the
// folder. The first publisher wins; the others get already_there. The temporary file is locked (flock) while it is
// written, so that a sweeper can distinguish it from the leftover of a killed writer. The file's mode is 0644 less the
// umask. Safe against concurrent publishers in any process. With Existing::replaced an existing file is replaced by a
// rename and the result is always `first`; after an error either the old or the new file is there, complete.
Expected<Published> publish_file(SystemCalls& calls, const std::filesystem::path& staging,
                                 const std::filesystem::path& target, const std::vector<std::string_view>& pieces,
                                 Existing existing = Existing::kept);

// Whether a written file survives a loss of power.
enum class Durability { synced, none };

// Creates or replaces `target` with the concatenation of `pieces`, or leaves it unchanged; readers always see a
// complete file. Writes a temporary file beside it as above, then renames it. Does not follow links. io or no_room on
// failure; invalid_argument if `target` exists and is not a regular file (a device must not be replaced).
Expected<void> replace_file(SystemCalls& calls, const std::filesystem::path& target,
                            const std::vector<std::string_view>& pieces, Durability durability = Durability::synced);

// "cannot VERB NAME: MESSAGE OF ERRNO".
std::string system_message(std::string_view verb, const std::filesystem::path& name, int error);

// The error with that message. The code is no_room if further writes will fail as well (disk full or read-only, quota,
// limit on descriptors), else io.
tl::unexpected<Error> fail_system(std::string_view verb, const std::filesystem::path& name, int error);

}  // namespace cubinet::util
