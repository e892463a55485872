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

#include "cache/layout.hpp"
#include "cache/maintenance.hpp"
#include "unit/util/temp_folder.hpp"
#include "util/digest.hpp"

namespace cubinet::test {

inline std::string record_of(int number) { return R"({"family":"test","number":)" + std::to_string(number) + "}"; }

inline cache::Key key_of(const std::string& record) { return *cache::Key::from_hex(util::sha256_hex(record)); }
inline cache::Key key_of(int number) { return key_of(record_of(number)); }

// The details of a kernel, as jit/kernel_facts.hpp writes them.
inline cache::Details details_of(const std::string& family, std::int64_t n, std::int64_t k, const std::string& config,
                                 const cache::Details::Texts& kernel_names = {"kernel_a", "kernel_b"}) {
  cache::Details details;
  if (!config.empty()) details.set("config", config);
  details.set("family", family);
  details.set("k", k);
  details.set("kernel_names", kernel_names);
  details.set("n", n);
  details.set("registers", 168);
  details.set("smem_bytes", 232'448);
  details.set("spill_bytes", 24);
  return details;
}

// An entry in which every field differs from every other and from its default.
inline cache::Object object_of(int number) {
  cache::Object object;
  object.payload =
      "\x7f"
      "ELF";
  for (int i = 0; i < 600; ++i) object.payload.push_back(static_cast<char>((i * 7 + number) & 0xff));
  object.record = record_of(number);
  object.facts = {"sm_90a", "NVRTC 13.0.88", 214.125 + number, 1'764'000'000 + number,
                  details_of("bf16_grouped_masked", 4096 + number, 7168, "t64x128u8s6c1b8")};
  return object;
}

inline bool equal(const cache::Object& a, const cache::Object& b) {
  return a.payload == b.payload && a.record == b.record && a.facts == b.facts;
}

// Whether a look-up of the entry returns object_of(number).
inline bool hit(const cache::Cabinet& cabinet, int number) {
  const auto object = cabinet.find(key_of(number), record_of(number));
  return object && equal(*object, object_of(number)) && cabinet.holds(key_of(number));
}

// The entries of a survey, of all keys or of those with a prefix.
inline Expected<std::vector<cache::Entry>> entries_of(const cache::Cabinet& cabinet, std::string_view prefix = {}) {
  return cache::Maintenance(cabinet).survey(prefix).map([](const cache::Survey& survey) { return survey.entries; });
}

inline bool equal(const cache::Entry& a, const cache::Entry& b) {
  return a.key == b.key && a.facts == b.facts && a.bytes == b.bytes && a.record == b.record;
}

// Whether both have the same entries in the same order, without regard to hits and last_used.
inline bool equal(const std::vector<cache::Entry>& a, const std::vector<cache::Entry>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const cache::Entry& x, const cache::Entry& y) { return equal(x, y); });
}

// A root with entries 0 .. count - 1.
struct Filled {
  explicit Filled(int count, const cache::CabinetOptions& given = {},
                  const std::filesystem::path& place = std::filesystem::temp_directory_path())
      : folder(place),
        layout{folder / "root"},
        options(given),
        cabinet(cache::Cabinet::open(layout.root, true, options).value()) {
    for (int i = 0; i < count; ++i) {
      if (auto done = cabinet.publish(key_of(i), object_of(i)); !done) throw std::runtime_error(done.error().message);
    }
  }
  [[nodiscard]] cache::Maintenance maintenance() const { return cache::Maintenance(cabinet); }
  // Opens the root again with one more layer. Returns the error if the layer cannot be opened.
  Expected<void> add_layer(const std::filesystem::path& layer) {
    layers.push_back(layer);
    auto opened = cache::Cabinet::open_stack(layout.root, true, layers, options);
    if (!opened) return propagate(opened);
    if (!opened->problems.empty()) return fail(ErrorCode::cache_unusable, opened->problems.front());
    cabinet = std::move(opened->cabinet);
    return {};
  }
  TempFolder folder;
  cache::Layout layout;
  cache::CabinetOptions options;
  std::vector<std::filesystem::path> layers;
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
