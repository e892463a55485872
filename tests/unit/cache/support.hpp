// Entries, roots and processes for the tests of the cabinet.
#pragma once

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>

#include "cache/cabinet.hpp"
#include "cache/layout.hpp"
#include "unit/util/temp_folder.hpp"
#include "util/digest.hpp"

namespace cubinet::test {

inline std::string record_of(int number) { return R"({"family":"test","number":)" + std::to_string(number) + "}"; }

inline cache::Key key_of(const std::string& record) { return *cache::Key::from_hex(util::sha256_hex(record)); }
inline cache::Key key_of(int number) { return key_of(record_of(number)); }

// An entry in which every field differs from every other and from its default.
inline cache::Object object_of(int number) {
  cache::Object object;
  object.payload =
      "\x7f"
      "ELF";
  for (int i = 0; i < 600; ++i) object.payload.push_back(static_cast<char>((i * 7 + number) & 0xff));
  object.record = record_of(number);
  object.facts = {"bf16_grouped_masked",
                  "sm_90a",
                  4096 + number,
                  7168,
                  "t64x128u8s6c1b8",
                  168,
                  24,
                  232'448,
                  214.125 + number,
                  1'764'000'000 + number,
                  {"kernel_a", "kernel_b"},
                  "NVRTC 13.0.88"};
  return object;
}

inline bool equal(const cache::Object& a, const cache::Object& b) {
  return a.payload == b.payload && a.record == b.record && a.facts == b.facts;
}

// Whether look-ups answer with object_of(number).
inline bool hit(const cache::Cabinet& cabinet, int number) {
  const auto object = cabinet.find(key_of(number), record_of(number));
  return object && equal(*object, object_of(number)) && cabinet.holds(key_of(number));
}

inline bool equal(const cache::Entry& a, const cache::Entry& b) {
  return a.key == b.key && a.facts == b.facts && a.bytes == b.bytes && a.record == b.record;
}

// The same entries in the same order, hits and last_used aside.
inline bool equal(const std::vector<cache::Entry>& a, const std::vector<cache::Entry>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const cache::Entry& x, const cache::Entry& y) { return equal(x, y); });
}

// A root with entries 0 .. count - 1.
struct Filled {
  explicit Filled(int count, cache::Surroundings surroundings = {},
                  const std::filesystem::path& place = std::filesystem::temp_directory_path())
      : folder(place), layout{folder / "root"}, cabinet(cache::Cabinet::open(layout.root, true, surroundings).value()) {
    for (int i = 0; i < count; ++i) {
      if (auto done = cabinet.publish(key_of(i), object_of(i)); !done) throw std::runtime_error(done.error().message);
    }
  }
  TempFolder folder;
  cache::Layout layout;
  cache::Cabinet cabinet;
};

// Everything in a folder: names, types, modes, sizes, times of change, contents.
inline auto snapshot(const std::filesystem::path& folder) {
  std::map<std::string, std::tuple<mode_t, std::int64_t, std::int64_t, ino_t, std::string>> items;
  for (const auto& item : std::filesystem::recursive_directory_iterator(folder)) {
    struct stat status {};
    ::lstat(item.path().c_str(), &status);
    items[item.path().native()] = {status.st_mode, status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ino,
                                   item.is_regular_file() ? contents(item.path()) : std::string()};
  }
  return items;
}

// Runs `work` in a child process and returns its status: what `work` returned, -1 if a signal ended it.
template <class Work>
pid_t start_child(Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    int status = 99;
    try {
      status = work();
    } catch (...) {
      status = 98;
    }
    ::_exit(status);
  }
  return child;
}

inline int wait_for(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

template <class Work>
int in_child(Work work) {
  return wait_for(start_child(work));
}

}  // namespace cubinet::test
