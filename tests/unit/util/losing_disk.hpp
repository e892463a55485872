// A disk that loses power, and keeps no more than POSIX promises.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "util/system_calls.hpp"

namespace cubinet::test {

// Calls go through to the real folder `top`, which must be empty at first. Beside it stands a model of the disk: the
// bytes of a file are safe once it was synced, and a name once its folder was. Until then each byte and each name may
// be there or not, in any combination. What is written around the seam (locks, SQLite's index) is not in the model.
// For one thread.
class LosingDisk final : public util::SystemCalls {
 public:
  explicit LosingDisk(std::filesystem::path top);

  // From the call of this number (from 0) on nothing is done any more, as after a kill: calls fail with EIO.
  int dies_at = -1;
  int calls = 0;
  // Faults for the test of the test: syncing does nothing.
  bool forgets_files = false;
  bool forgets_folders = false;

  [[nodiscard]] bool dead() const { return dies_at >= 0 && calls > dies_at; }
  // Puts `bytes` in the place of what a file holds, safely on the disk: damage.
  void spoil(const std::filesystem::path& path, const std::string& bytes);
  // Makes in the empty folder `place` what might be found on the disk if power were lost now.
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
    std::size_t safe = 0;  // so many of the bytes are on the disk
    std::map<std::string, NodePtr> names;
    std::map<std::string, NodePtr> safe_names;
    std::map<std::string, std::vector<NodePtr>> changes;  // what names were given since the last sync; null: removed
  };

  // Counts a call. True: it must fail.
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
