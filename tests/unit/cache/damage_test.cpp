// A look-up of a damaged object returns the right bytes or a miss.
#include <sys/stat.h>

#include "catch.hpp"
#include "unit/cache/support.hpp"

using namespace cubinet;
namespace fs = std::filesystem;

namespace {

constexpr int damaged = 0;

bool found(const cache::Cabinet& cabinet, int number = damaged) {
  return cabinet.find(test::key_of(number), test::record_of(number)).has_value();
}

// Replaces the entry's file by `bytes` and looks the entry up. A hit must return the right object.
bool hit_with(test::Filled& root, const std::string& bytes) {
  const auto path = root.layout.object(test::key_of(damaged));
  fs::remove(path);
  test::write_file(path, bytes);
  const auto object = root.cabinet.find(test::key_of(damaged), test::record_of(damaged));
  if (object && !test::equal(*object, test::object_of(damaged))) FAIL("wrong bytes were returned");
  return object.has_value();
}

}  // namespace

TEST_CASE("a flipped byte anywhere is a miss, and the file is moved to quarantine") {
  test::Filled root(1);
  const std::string whole = test::contents(root.layout.object(test::key_of(damaged)));
  std::int64_t expected = 0;
  for (std::size_t i = 0; i < whole.size(); i += 7) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x40);
    if (hit_with(root, changed)) FAIL("byte " << i);
    CHECK_FALSE(fs::exists(root.layout.object(test::key_of(damaged))));
    ++expected;
  }
  CHECK(root.maintenance().stats()->quarantined == expected);
  CHECK(root.cabinet.set_aside() == expected);
  CHECK(hit_with(root, whole));
  CHECK_FALSE(found(root.cabinet, damaged + 1));
  CHECK(root.cabinet.set_aside() == expected);
}

TEST_CASE("a damaged file that a look-up does not move does not count as moved to quarantine") {
  test::Filled root(1);
  test::write_file(root.layout.object(test::key_of(damaged)), "damaged");
  const auto stack = cache::Cabinet::open_stack({}, false, {root.layout.root});
  REQUIRE(stack);
  CHECK_FALSE(found(stack->cabinet));
  CHECK(stack->cabinet.set_aside() == 0);
}

TEST_CASE("a file truncated to any length is a miss") {
  test::Filled root(1);
  const std::string whole = test::contents(root.layout.object(test::key_of(damaged)));
  for (std::size_t length = 0; length < whole.size(); length += 5) {
    if (hit_with(root, whole.substr(0, length))) FAIL("length " << length);
  }
  CHECK(hit_with(root, whole));
}

TEST_CASE("a damaged entry can be published again and is found") {
  test::Filled root(1);
  CHECK_FALSE(hit_with(root, "damaged"));
  REQUIRE(root.cabinet.publish(test::key_of(damaged), test::object_of(damaged)));
  CHECK(found(root.cabinet));
  CHECK(test::entries_of(root.cabinet)->size() == 1);
}

TEST_CASE("publishing replaces a damaged object, or is an error that says that the object cannot be moved") {
  struct NoRenames final : util::SystemCalls {
    int rename(const std::string&, const std::string&) override {
      errno = EIO;
      return -1;
    }
  };
  test::Filled root(1);
  test::write_file(root.layout.object(test::key_of(damaged)), "damaged");
  NoRenames calls;
  auto unlucky = cache::Cabinet::open(root.layout.root, false, {.calls = calls}).value();
  const auto refused = unlucky.publish(test::key_of(damaged), test::object_of(damaged));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("cannot set aside") != std::string::npos);
  REQUIRE(root.cabinet.publish(test::key_of(damaged), test::object_of(damaged)));
  CHECK(found(root.cabinet));
  CHECK(root.maintenance().stats()->quarantined == 1);
}

TEST_CASE("a sound object that replaces the damaged one at the last moment is not moved to quarantine") {
  // Another process moves the damaged object to quarantine and publishes a sound one just before.
  struct PublishingCalls final : util::SystemCalls {
    std::string whole;
    int rename(const std::string& from, const std::string& to) override {
      if (!whole.empty()) test::write_file(from, whole);
      return SystemCalls::rename(from, to);
    }
  };
  PublishingCalls calls;
  test::Filled root(1, {.calls = calls});
  const auto path = root.layout.object(test::key_of(damaged));
  calls.whole = test::contents(path);
  test::write_file(path, "damaged");
  CHECK_FALSE(found(root.cabinet));
  CHECK(found(root.cabinet));
  CHECK(root.maintenance().stats()->quarantined == 0);
}

TEST_CASE("a sound object of another kernel under this name is a miss") {
  test::Filled root(2);
  const std::string other = test::contents(root.layout.object(test::key_of(1)));
  CHECK_FALSE(hit_with(root, other));
  CHECK(found(root.cabinet, 1));
}

TEST_CASE("a link, a folder or a pipe in place of an object is a miss, and the look-up does not block") {
  test::Filled root(2);
  const auto path = root.layout.object(test::key_of(damaged));
  const auto copy = root.folder / "copy";
  fs::copy_file(path, copy);
  fs::remove(path);
  fs::create_symlink(copy, path);
  CHECK_FALSE(found(root.cabinet));
  CHECK_FALSE(fs::exists(fs::symlink_status(path)));
  fs::create_directory(path);
  CHECK_FALSE(found(root.cabinet));
  CHECK_FALSE(fs::exists(path));
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK_FALSE(found(root.cabinet));
  CHECK_FALSE(fs::exists(path));
  CHECK(test::entries_of(root.cabinet)->size() == 1);
}

TEST_CASE("a file that is longer than any object is not read into memory") {
  test::Filled root(1);
  const auto path = root.layout.object(test::key_of(damaged));
  fs::resize_file(path, std::uintmax_t{1} << 40);
  CHECK_FALSE(found(root.cabinet));
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("a listing leaves out damaged files, reports them, and changes nothing in objects/") {
  test::Filled root(5);
  const auto replace = [&](int number) {
    fs::remove(root.layout.object(test::key_of(number)));
    return root.layout.object(test::key_of(number));
  };
  fs::resize_file(root.layout.object(test::key_of(0)), 100);
  fs::create_symlink(root.folder / "nowhere", replace(1));
  fs::create_directory(replace(2));
  REQUIRE(::mkfifo(replace(3).c_str(), 0600) == 0);
  test::write_file(root.layout.objects() / "stranger", "?");
  const auto before = test::snapshot(root.layout.objects());
  const auto survey = root.maintenance().survey();
  REQUIRE(survey);
  REQUIRE(survey->entries.size() == 1);
  CHECK(survey->entries.front().key == test::key_of(4));
  std::vector<std::string> expected;
  for (int number = 0; number < 4; ++number) expected.push_back(test::key_of(number).hex());
  std::sort(expected.begin(), expected.end());
  expected.push_back("stranger");
  CHECK(survey->damaged == expected);
  CHECK(root.maintenance().survey(test::key_of(2).hex().substr(0, 16))->damaged.size() == 1);
  CHECK(root.maintenance().stats()->damaged == 5);
  CHECK(root.maintenance().stats()->quarantined == 0);
  CHECK(test::snapshot(root.layout.objects()) == before);
  CHECK(fs::is_empty(root.layout.quarantine()));
}

TEST_CASE("the next listing drops the row of an object that a look-up moved to quarantine") {
  test::Filled root(2);
  test::write_file(root.layout.object(test::key_of(damaged)), "damaged");
  REQUIRE(root.maintenance().survey());
  CHECK_FALSE(found(root.cabinet));
  CHECK(root.maintenance().verify(false)->missing == 1);
  CHECK(test::entries_of(root.cabinet)->size() == 1);
  CHECK(root.maintenance().verify(false)->missing == 0);
}

TEST_CASE("checking one object changes nothing") {
  test::Filled root(2);
  CHECK(root.maintenance().check(test::key_of(1)));
  CHECK(root.maintenance().check(test::key_of(9)).error().code == ErrorCode::not_found);
  const auto path = root.layout.object(test::key_of(damaged));
  std::string bytes = test::contents(path);
  bytes[10] = static_cast<char>(bytes[10] ^ 1);
  test::write_file(path, bytes);
  const auto before = test::snapshot(root.folder.path());
  const auto checked = root.maintenance().check(test::key_of(damaged));
  REQUIRE_FALSE(checked);
  CHECK(checked.error().code == ErrorCode::invalid_argument);
  CHECK(checked.error().message.find("is damaged") != std::string::npos);
  CHECK(test::snapshot(root.folder.path()) == before);
}
