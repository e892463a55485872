// Simulates a disk that loses power and then holds no more than POSIX guarantees.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "util/system_calls.hpp"

namespace cubinet::test {

// Calls are passed to the real folder `top`, which must be empty at first, and recorded in a model of the disk: the
// bytes of a file are safe after its fsync, and a name after the fsync of its folder. Until then each byte and each
// name may be lost or not, in any combination. Writes that do not use SystemCalls (locks, SQLite's index) are not in
// the model. One thread.
class LosingDisk final : public util::SystemCalls {
 public:
  explicit LosingDisk(std::filesystem::path top);

  // From this call number (from 0) on all calls fail with EIO and do nothing, as after a kill.
  int dies_at = -1;
  int calls = 0;
  // Faults to test the simulation: fsync of files, or of folders, does nothing.
  bool forgets_files = false;
  bool forgets_folders = false;

  [[nodiscard]] bool dead() const { return dies_at >= 0 && calls > dies_at; }
  // Damages a file: replaces its content by `bytes`, safely on the disk.
  void spoil(const std::filesystem::path& path, const std::string& bytes);
  // Creates in the empty folder `place` a possible content of the disk after a loss of power now.
  void lose_power(std::mt19937& random, const std::filesystem::path& place) const;

  int open(const std::string& path, int flags, mode_t mode) override;
  ssize_t write(int file, const char* bytes, std::size_t count) override;
  int fsync(int file) override;
  int close(int file) override;
  int link(const std::string& from, const std::string& to) override;
  int rename(const std::string& from, const std::string& to) override;
  int unlink(const std::string& path) override;
  int mkdir(const std::string& path, mode_t mode) override;

 private:
  struct Node;
  using NodePtr = std::shared_ptr<Node>;
  struct Node {
    bool folder = false;
    std::string bytes;
    std::size_t safe = 0;  // the number of bytes that are on the disk
    std::map<std::string, NodePtr> names;
    std::map<std::string, NodePtr> safe_names;
    std::map<std::string, std::vector<NodePtr>> changes;  // names set since the last sync; null: removed
  };

  // Counts a call and returns whether it must fail.
  bool fails();
  [[nodiscard]] NodePtr find(const std::filesystem::path& path) const;
  void name(const std::filesystem::path& path, const NodePtr& node);
  static void restore(std::mt19937& random, const Node& folder, const std::filesystem::path& place);
  static std::string surviving_bytes(std::mt19937& random, const Node& file);

  std::filesystem::path top_;
  NodePtr root_;
  std::map<int, NodePtr> open_;
};

}  // namespace cubinet::test
