// File systems that a test mounts: a small one that fills up, and a read-only one. They are in a mount namespace of
// their own, so that no other process sees them.
#include <sched.h>
#include <sys/mount.h>

#include "catch.hpp"
#include "unit/cache/support.hpp"

using namespace cubinet;
using cache::Cabinet;
using test::hit;
namespace fs = std::filesystem;

namespace {

constexpr int no_namespace = 90;
constexpr const char* needs_mounts = "needs to be root, to mount";

// Runs `work` in a child process with its own mount namespace. Returns the result of `work`, or no_namespace.
template <class Work>
int with_mounts(Work work) {
  return test::in_child([&] {
    if (::unshare(CLONE_NEWNS) != 0) return no_namespace;
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return no_namespace;
    return work();
  });
}

bool mount_bind_readonly(const fs::path& folder) {
  return ::mount(folder.c_str(), folder.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
         ::mount(nullptr, folder.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0;
}

// Publishes entries until the disk is full. Returns how many were stored; -1 if the error does not name the reason.
int fill(Cabinet& cabinet) {
  for (int number = 0; number < 1000; ++number) {
    const auto published = cabinet.publish(test::key_of(number), test::object_of(number));
    if (published) continue;
    return published.error().message.find("No space left on device") != std::string::npos ? number : -1;
  }
  return -1;
}

// Checks a cabinet on a full disk. Returns 0 on success, else the number of the check that failed.
int use_full_disk(const fs::path& root) {
  auto cabinet = Cabinet::open(root, true);
  if (!cabinet) return 2;
  const int stored = fill(*cabinet);
  if (stored < 3) return 3;
  for (int number = 0; number < stored; ++number) {
    if (!hit(*cabinet, number)) return 4;
  }
  if (cabinet->find(test::key_of(stored), test::record_of(stored))) return 5;
  // The index can fail before the objects do; listings then come from the objects.
  if (test::entries_of(*cabinet)->size() != static_cast<std::size_t>(stored)) return 6;
  const auto report = cache::Maintenance(*cabinet).verify(false);
  if (!report || !report->damaged.empty() || report->leftovers != 0) return 7;
  // After it is opened again it serves look-ups, and stores entries once there is room.
  auto again = Cabinet::open(root, true);
  if (!again || !hit(*again, 0)) return 8;
  for (int number = 0; number < 2; ++number) {
    if (!cache::Maintenance(*again).remove(test::key_of(number))) return 9;
  }
  return again->publish(test::key_of(1000), test::object_of(1000)) && hit(*again, 1000) ? 0 : 10;
}

}  // namespace

TEST_CASE("a full disk keeps its entries, gives the reason for refusing more, and stores again once there is room") {
  const test::TempFolder folder;
  const int outcome = with_mounts([&] {
    if (::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=160k") != 0) return no_namespace;
    return use_full_disk(folder / "root");
  });
  if (outcome == no_namespace) CUBINET_SKIP(needs_mounts);
  CHECK(outcome == 0);
}

TEST_CASE("a root on a full disk is opened read-only if its folders cannot be created") {
  test::TempFolder folder;
  const int outcome = with_mounts([&] {
    if (::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=64k,nr_inodes=4") != 0) return no_namespace;
    fs::create_directory(folder / "root");
    test::write_file(folder / "root/FORMAT", "cubinet cabinet 1\n");
    const auto cabinet = Cabinet::open(folder / "root", true);
    const bool told = cabinet && cabinet->persistence() == cache::Persistence::readonly &&
                      cabinet->readonly_reason().find("No space left on device") != std::string::npos;
    return told ? 0 : 1;
  });
  if (outcome == no_namespace) CUBINET_SKIP(needs_mounts);
  CHECK(outcome == 0);
}

TEST_CASE("a root on a read-only mount serves look-ups and listings, stores nothing and gives the reason") {
  test::Filled root(3);
  const auto before = test::snapshot(root.layout.root);
  const int outcome = with_mounts([&] {
    if (!mount_bind_readonly(root.layout.root)) return no_namespace;
    auto cabinet = Cabinet::open(root.layout.root, true);
    if (!cabinet || cabinet->persistence() != cache::Persistence::readonly) return 1;
    if (!hit(*cabinet, 0) || test::entries_of(*cabinet)->size() != 3 ||
        !cache::Maintenance(*cabinet).verify(false)->damaged.empty())
      return 2;
    cabinet->record_hits({test::key_of(0)});
    const auto published = cabinet->publish(test::key_of(9), test::object_of(9));
    if (published || published.error().message.find("Read-only file system") == std::string::npos) return 3;
    test::Filled writable(0);
    return writable.add_layer(root.layout.root) && hit(writable.cabinet, 2) ? 0 : 4;
  });
  if (outcome == no_namespace) CUBINET_SKIP(needs_mounts);
  CHECK(outcome == 0);
  CHECK(test::snapshot(root.layout.root) == before);
}

TEST_CASE("a journal left by a killed writer does not disturb look-ups and listings on a read-only mount") {
  test::Filled root(3);
  test::write_file(root.layout.index_journal(),
                   std::string("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7") + std::string(504, 'x'));
  const int outcome = with_mounts([&] {
    if (!mount_bind_readonly(root.layout.root)) return no_namespace;
    auto cabinet = Cabinet::open(root.layout.root, false);
    return cabinet && hit(*cabinet, 1) && test::entries_of(*cabinet)->size() == 3 ? 0 : 1;
  });
  if (outcome == no_namespace) CUBINET_SKIP(needs_mounts);
  CHECK(outcome == 0);
}
