// Other users and read-only roots. Root ignores file modes, so these tests run as somebody else in a child process.
#include <sys/stat.h>
#include <unistd.h>

#include "catch.hpp"
#include "unit/cache/support.hpp"

using namespace cubinet;
using cache::Cabinet;
namespace fs = std::filesystem;

namespace {

constexpr uid_t owner = 54'321;
constexpr uid_t stranger = 54'322;
constexpr const char* needs_root = "needs to be root, to become other users";

bool is_root() { return ::geteuid() == 0; }

// Runs `work` as another user. 0: it returned true.
template <class Work>
bool as_user(uid_t user, Work work) {
  return test::in_child([&] {
           if (::setresgid(user, user, user) != 0 || ::setresuid(user, user, user) != 0) return 97;
           return work() ? 0 : 1;
         }) == 0;
}

// A root that `owner` made, with entry 0 in it.
struct Owned {
  Owned() : layout{folder / "place/root"} {
    ::chmod(folder.path().c_str(), 0755);
    fs::create_directory(folder / "place");
    REQUIRE(::chown((folder / "place").c_str(), owner, owner) == 0);
    REQUIRE(as_user(owner, [&] {
      auto cabinet = Cabinet::open(layout.root, true);
      return cabinet && cabinet->publish(test::key_of(0), test::object_of(0)).has_value();
    }));
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

bool hit(const Cabinet& cabinet) { return cabinet.find(test::key_of(0), test::record_of(0)).has_value(); }

}  // namespace

TEST_CASE("a root that cannot be written answers look-ups and listings, and refuses to publish with the reason") {
  if (!is_root()) CUBINET_SKIP(needs_root);
  const Owned root;
  chmod_all(root.layout.root, 0555, 0444);
  const auto before = test::snapshot(root.folder.path());
  CHECK(as_user(owner, [&] {
    auto cabinet = Cabinet::open(root.layout.root, true);
    if (!cabinet || cabinet->persistence() != cache::Persistence::readonly || !hit(*cabinet)) return false;
    cabinet->record_hits({test::key_of(0)});
    const auto published = cabinet->publish(test::key_of(1), test::object_of(1));
    return !published && published.error().code == ErrorCode::cache_unusable &&
           published.error().message.find("Permission denied") != std::string::npos &&
           published.error().message.find(root.layout.root.native()) != std::string::npos &&
           cabinet->list()->size() == 1 && cabinet->stats()->entries == 1 && cabinet->verify(false)->damaged.empty() &&
           !cabinet->verify(true) && !cabinet->remove(test::key_of(0));
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
    return cabinet && hit(*cabinet) && !cabinet->find(test::key_of(5), test::record_of(5)) &&
           cabinet->list()->size() == 1 && cabinet->stats()->quarantined == 0;
  }));
  CHECK(test::snapshot(root.folder.path()) == before);
}

TEST_CASE("a root made by root is read by everybody whom its modes let in") {
  if (!is_root()) CUBINET_SKIP(needs_root);
  test::Filled root(1);
  ::chmod(root.folder.path().c_str(), 0755);
  ::chmod(root.layout.root.c_str(), 0755);
  CHECK(as_user(stranger, [&] {
    const auto cabinet = Cabinet::open(root.layout.root, true);
    return cabinet && cabinet->persistence() == cache::Persistence::readonly && hit(*cabinet);
  }));
}

TEST_CASE("a root of another user is refused by name, also through a link, unless root asks") {
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

TEST_CASE("a link that another user planted is refused even when it leads to a root of one's own") {
  if (!is_root()) CUBINET_SKIP(needs_root);
  const Owned root;
  const auto link = root.folder / "planted";
  fs::create_directory_symlink(root.layout.root, link);
  REQUIRE(::lchown(link.c_str(), stranger, stranger) == 0);
  CHECK(as_user(owner, [&] { return !Cabinet::open(link, true) && Cabinet::open(root.layout.root, true); }));
}

TEST_CASE("a root that cannot be entered or made is refused by name") {
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

TEST_CASE("an index that cannot be read or written is replaced when the root can be") {
  if (!is_root()) CUBINET_SKIP(needs_root);
  const Owned root;
  for (const mode_t mode : {0000, 0444}) {
    REQUIRE(::chown(root.layout.index().c_str(), 0, 0) == 0);
    REQUIRE(::chmod(root.layout.index().c_str(), mode) == 0);
    CHECK(as_user(owner, [&] {
      auto cabinet = Cabinet::open(root.layout.root, false);
      if (!hit(*cabinet)) return false;
      cabinet->record_hits({test::key_of(0)});
      return cabinet->list()->size() == 1 && cabinet->list()->front().hits == 1;
    }));
  }
}
