// Other users and read-only roots. File modes do not restrict root, so these tests run as another user in a child.
#include <sys/stat.h>
#include <unistd.h>

#include "catch.hpp"
#include "unit/cache/other_users.hpp"

using namespace cubinet;
using cache::Cabinet;
namespace fs = std::filesystem;

namespace {

using test::as_user;
using test::is_root;
using test::needs_root;
using test::owner;
using test::stranger;

// A root that `owner` created, with entry 0.
struct Owned {
  Owned() : layout{folder / "place/root"} {
    ::chmod(folder.path().c_str(), 0755);
    fs::create_directory(folder / "place");
    REQUIRE(::chown((folder / "place").c_str(), owner, owner) == 0);
    REQUIRE(as_user(owner, [&] { return test::fill(layout.root); }));
  }
  test::TempFolder folder;
  cache::Layout layout;
};

void chmod_all(const fs::path& folder, mode_t folders, mode_t files) {
  for (const auto& item : fs::recursive_directory_iterator(folder)) {
    REQUIRE(::chmod(item.path().c_str(), item.is_directory() ? folders : files) == 0);
  }
  REQUIRE(::chmod(folder.c_str(), folders) == 0);
}

// A disk on which chown fails.
class Keeping final : public util::SystemCalls {
 public:
  int asked = 0;
  int fchown(int /*file*/, uid_t /*user*/, gid_t /*group*/) override {
    ++asked;
    errno = EPERM;
    return -1;
  }
};

// Calls every function that creates files: an entry, its claim, hits, coverage, and a damaged entry that is moved to
// quarantine and published again.
void use(Cabinet& cabinet) {
  const cache::Layout layout{cabinet.root()};
  REQUIRE(cabinet.claim(test::key_of(1)).mine());
  REQUIRE(cabinet.publish(test::key_of(1), test::object_of(1)));
  REQUIRE(cabinet.publish(test::key_of(0), test::object_of(0)));
  test::write_file(layout.object(test::key_of(1)), "damaged");
  REQUIRE_FALSE(cabinet.holds(test::key_of(1)));
  REQUIRE(cabinet.publish(test::key_of(1), test::object_of(1)));
  cabinet.record_hits({test::key_of(1)});
  REQUIRE(cache::Maintenance(cabinet).record_coverage("{}", {test::key_of(1)}));
}

// The files in a folder that do not belong to `owner`.
std::vector<std::string> strangers_below(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& item : fs::recursive_directory_iterator(folder)) {
    struct stat status {};
    const bool owned = ::lstat(item.path().c_str(), &status) == 0 && status.st_uid == owner && status.st_gid == owner;
    if (!owned) names.push_back(item.path().native());
  }
  return names;
}

}  // namespace

TEST_CASE("a root that cannot be written serves look-ups and listings, and refuses to publish with the reason") {
  if (!is_root()) CUBINET_SKIP(needs_root);
  const Owned root;
  chmod_all(root.layout.root, 0555, 0444);
  const auto before = test::snapshot(root.folder.path());
  CHECK(as_user(owner, [&] {
    auto cabinet = Cabinet::open(root.layout.root, true);
    if (!cabinet || cabinet->persistence() != cache::Persistence::readonly || !test::hit(*cabinet, 0)) return false;
    cabinet->record_hits({test::key_of(0)});
    const auto published = cabinet->publish(test::key_of(1), test::object_of(1));
    return !published && published.error().code == ErrorCode::cache_unusable &&
           published.error().message.find("Permission denied") != std::string::npos &&
           published.error().message.find(root.layout.root.native()) != std::string::npos &&
           test::entries_of(*cabinet)->size() == 1 && cache::Maintenance(*cabinet).stats()->entries == 1 &&
           cache::Maintenance(*cabinet).verify(false)->damaged.empty() && !cache::Maintenance(*cabinet).verify(true) &&
           !cache::Maintenance(*cabinet).remove(test::key_of(0));
  }));
  CHECK(test::snapshot(root.folder.path()) == before);
}

TEST_CASE("a read-only root works without its index, and with a damaged object in it") {
  if (!is_root()) CUBINET_SKIP(needs_root);
  const Owned root;
  fs::remove(root.layout.index());
  test::write_file(root.layout.object(test::key_of(5)).parent_path(), "");
  fs::remove(root.layout.object(test::key_of(5)).parent_path());
  fs::create_directories(root.layout.object(test::key_of(5)).parent_path());
  test::write_file(root.layout.object(test::key_of(5)), "damaged");
  chmod_all(root.layout.root, 0555, 0444);
  const auto before = test::snapshot(root.folder.path());
  CHECK(as_user(owner, [&] {
    auto cabinet = Cabinet::open(root.layout.root, false);
    return cabinet && test::hit(*cabinet, 0) && !cabinet->find(test::key_of(5), test::record_of(5)) &&
           test::entries_of(*cabinet)->size() == 1 && cache::Maintenance(*cabinet).stats()->quarantined == 0 &&
           cache::Maintenance(*cabinet).stats()->index_problem.empty();
  }));
  CHECK(test::snapshot(root.folder.path()) == before);
}

TEST_CASE("a root created by the user root can be read by every user whom its modes allow") {
  if (!is_root()) CUBINET_SKIP(needs_root);
  test::Filled root(1);
  ::chmod(root.folder.path().c_str(), 0755);
  ::chmod(root.layout.root.c_str(), 0755);
  CHECK(as_user(stranger, [&] {
    const auto cabinet = Cabinet::open(root.layout.root, true);
    return cabinet && cabinet->persistence() == cache::Persistence::readonly && test::hit(*cabinet, 0);
  }));
}

TEST_CASE("a root of another user is refused by name, also through a link, unless the caller is root") {
  if (!is_root()) CUBINET_SKIP(needs_root);
  const Owned root;
  chmod_all(root.layout.root, 0755, 0644);
  const auto link = root.folder / "place/link";
  fs::create_directory_symlink(root.layout.root, link);
  for (const auto& path : {root.layout.root, link}) {
    CHECK(as_user(stranger, [&] {
      const auto cabinet = Cabinet::open(path, true);
      return !cabinet && cabinet.error().code == ErrorCode::cache_unusable &&
             cabinet.error().message.find("belongs to user 54321") != std::string::npos;
    }));
  }
  CHECK(Cabinet::open(root.layout.root, false));
}

TEST_CASE("files that root creates in another user's root belong to that user, who can replace and remove them") {
  if (!is_root()) CUBINET_SKIP(needs_root);
  const Owned root;
  fs::remove(root.layout.index());
  fs::remove(root.layout.index_journal());
  fs::remove_all(root.layout.locks());
  {
    auto cabinet = Cabinet::open(root.layout.root, true).value();
    use(cabinet);
  }
  CHECK(strangers_below(root.layout.root).empty());
  CHECK(fs::exists(root.layout.index_journal()));
  CHECK(fs::exists(root.layout.claim(test::key_of(1))));
  CHECK(as_user(owner, [&] {
    auto cabinet = Cabinet::open(root.layout.root, true);
    if (!cabinet || !cache::Maintenance(*cabinet).remove(test::key_of(1))) return false;
    cabinet->record_hits({test::key_of(0)});
    return cabinet->claim(test::key_of(1)).mine() && cabinet->publish(test::key_of(1), test::object_of(1)) &&
           cache::Maintenance(*cabinet).coverage()->size() == 1 && cache::Maintenance(*cabinet).stats()->hits == 1;
  }));
}

TEST_CASE("if root creates a cabinet in another user's empty folder, all of it belongs to that user") {
  if (!is_root()) CUBINET_SKIP(needs_root);
  const test::TempFolder folder;
  const cache::Layout layout{folder / "root"};
  fs::create_directory(layout.root);
  REQUIRE(::chown(layout.root.c_str(), owner, owner) == 0);
  auto cabinet = Cabinet::open(layout.root, true).value();
  use(cabinet);
  CHECK(strangers_below(layout.root).empty());
  CHECK(fs::exists(layout.format()));
}

TEST_CASE("if root cannot change the owner of its files, it stores entries all the same") {
  if (!is_root()) CUBINET_SKIP(needs_root);
  const Owned root;
  Keeping keeping;
  auto cabinet = Cabinet::open(root.layout.root, true, {.calls = keeping}).value();
  use(cabinet);
  CHECK(keeping.asked > 0);
  CHECK(cabinet.find(test::key_of(1), test::record_of(1)));
  CHECK(cache::Maintenance(cabinet).coverage()->size() == 1);
}

TEST_CASE("a link that belongs to another user is refused even if it leads to the caller's own root") {
  if (!is_root()) CUBINET_SKIP(needs_root);
  const Owned root;
  const auto link = root.folder / "planted";
  fs::create_directory_symlink(root.layout.root, link);
  REQUIRE(::lchown(link.c_str(), stranger, stranger) == 0);
  CHECK(as_user(owner, [&] { return !Cabinet::open(link, true) && Cabinet::open(root.layout.root, true); }));
}

TEST_CASE("a root that cannot be entered or created is refused by name") {
  if (!is_root()) CUBINET_SKIP(needs_root);
  const Owned root;
  CHECK(as_user(stranger, [&] {
    const auto closed = Cabinet::open(root.layout.root, false);
    const auto unmade = Cabinet::open(root.folder / "place/new/root", true);
    return !closed && closed.error().code == ErrorCode::cache_unusable && !unmade &&
           unmade.error().code == ErrorCode::cache_unusable &&
           unmade.error().message.find("place/new") != std::string::npos &&
           unmade.error().message.find("Permission denied") != std::string::npos;
  }));
}

TEST_CASE("an index that cannot be read or written is replaced if the root can be written, whoever owns its lock") {
  if (!is_root()) CUBINET_SKIP(needs_root);
  for (const mode_t mode : {0000U, 0444U, 0644U}) {
    INFO(mode);
    const Owned root;
    test::write_file(root.layout.locks() / "index", "");
    REQUIRE(::chown(root.layout.index().c_str(), 0, 0) == 0);
    REQUIRE(::chmod(root.layout.index().c_str(), mode) == 0);
    CHECK(as_user(owner, [&] {
      auto cabinet = Cabinet::open(root.layout.root, false);
      if (!test::hit(*cabinet, 0)) return false;
      cabinet->record_hits({test::key_of(0)});
      return test::entries_of(*cabinet)->size() == 1 && test::entries_of(*cabinet)->front().hits == 1;
    }));
  }
}

TEST_CASE("a folder of objects that cannot be listed hides only its own entries, and their rows stay") {
  if (!is_root()) CUBINET_SKIP(needs_root);
  const Owned root;
  const fs::path shard = root.layout.object(test::key_of(0)).parent_path();
  REQUIRE(test::key_of(1).hex().substr(0, 2) != shard.filename());
  REQUIRE(as_user(owner, [&] {
    auto cabinet = Cabinet::open(root.layout.root, false).value();
    return cabinet.publish(test::key_of(1), test::object_of(1)).has_value() && test::entries_of(cabinet)->size() == 2;
  }));
  REQUIRE(::chown(shard.c_str(), 0, 0) == 0);
  REQUIRE(::chmod(shard.c_str(), 0700) == 0);
  const auto is_named = [&](const std::vector<cache::Unreadable>& unreadable) {
    return unreadable.size() == 1 && unreadable.front().name == shard.filename() &&
           unreadable.front().reason.find("Permission denied") != std::string::npos;
  };
  CHECK(as_user(owner, [&] {
    auto cabinet = Cabinet::open(root.layout.root, false).value();
    const auto survey = cache::Maintenance(cabinet).survey();
    const auto report = cache::Maintenance(cabinet).verify(true);
    const auto collected = cache::Maintenance(cabinet).collect({}, false);
    return survey && survey->entries.size() == 1 && survey->damaged.empty() && is_named(survey->unreadable) &&
           is_named(cache::Maintenance(cabinet).stats()->unreadable) && report && report->damaged.empty() &&
           report->missing == 0 && is_named(report->unreadable) && collected && collected->decision.entries_left == 1 &&
           is_named(cache::Maintenance(cabinet).survey(test::key_of(0).hex())->unreadable) &&
           cache::Maintenance(cabinet).survey(test::key_of(1).hex())->unreadable.empty();
  }));
  REQUIRE(::chown(shard.c_str(), owner, owner) == 0);
  CHECK(as_user(owner, [&] {
    return cache::Maintenance::open(root.layout.root)->verify(false)->orphans == 0;  // its row is still present
  }));
}

TEST_CASE("an unreadable object is not reported as damaged, and a repair does not move it") {
  if (!is_root()) CUBINET_SKIP(needs_root);
  const Owned root;
  const fs::path object = root.layout.object(test::key_of(0));
  REQUIRE(::chown(object.c_str(), 0, 0) == 0);
  REQUIRE(::chmod(object.c_str(), 0600) == 0);
  fs::remove(root.layout.index());
  CHECK(as_user(owner, [&] {
    auto cabinet = Cabinet::open(root.layout.root, false).value();
    const auto report = cache::Maintenance(cabinet).verify(true);
    const auto survey = cache::Maintenance(cabinet).survey();
    return report && report->damaged.empty() && report->not_moved == 0 && report->unreadable.size() == 1 &&
           report->unreadable.front().name == test::key_of(0).hex() && survey && survey->damaged.empty() &&
           survey->unreadable.size() == 1 &&
           cache::Maintenance(cabinet).check(test::key_of(0)).error().code == ErrorCode::io;
  }));
  CHECK(fs::exists(object));
}
