// Entries of one key from different compilers: which one a look-up returns, and which one is kept.
#include "cache/bundle_transfer.hpp"
#include "catch.hpp"
#include "unit/cache/bundle_builder.hpp"
#include "unit/cache/set_clock.hpp"
#include "unit/util/faulty_calls.hpp"

using namespace cubinet;
using cache::Cabinet;
namespace fs = std::filesystem;

namespace {

// Ranks the compilers "best" 0, "good" 1 and "fair" 2. Entries of all others cannot be used.
std::optional<int> ranked(const cache::Facts& facts) {
  if (facts.compiler == "best") return 0;
  if (facts.compiler == "good") return 1;
  if (facts.compiler == "fair") return 2;
  return std::nullopt;
}

cache::CabinetOptions ranking() {
  cache::CabinetOptions options;
  options.preference = ranked;
  return options;
}

// Entry 0 from `compiler`. Its size does not depend on the compiler.
cache::Object made_by(const std::string& compiler) {
  cache::Object object = test::object_of(0);
  object.facts.compiler = compiler;
  for (const char letter : compiler.substr(0, 4)) object.payload += letter;
  return object;
}

void put(const test::Filled& root, const std::string& compiler) {
  REQUIRE(Cabinet::open(root.layout.root, false)->publish(test::key_of(0), made_by(compiler)));
}

// The compiler of the entry that a look-up returns; empty on a miss.
std::string variant_found(const Cabinet& cabinet) {
  const auto object = cabinet.find(test::key_of(0), test::record_of(0));
  CHECK(cabinet.holds(test::key_of(0)) == object.has_value());
  if (!object) return {};
  CHECK(test::equal(*object, made_by(object->facts.compiler)));
  return object->facts.compiler;
}

std::string stored(const test::Filled& root) {
  return cache::Maintenance::open(root.layout.root)->load(test::key_of(0)).value().facts.compiler;
}

// Ends the process in place of call number `last` (from 0) after it was armed, as a kill would.
class DyingCalls final : public util::SystemCalls {
 public:
  static constexpr int killed = 77;
  explicit DyingCalls(int last) : last_(last) {}
  bool armed = false;

  int open(const std::string& path, int flags, mode_t mode) override {
    return live(), SystemCalls::open(path, flags, mode);
  }
  ssize_t write(int file, const char* bytes, std::size_t count) override {
    return live(), SystemCalls::write(file, bytes, count);
  }
  int fsync(int file) override { return live(), SystemCalls::fsync(file); }
  int close(int file) override { return live(), SystemCalls::close(file); }
  int rename(const std::string& from, const std::string& to) override { return live(), SystemCalls::rename(from, to); }

 private:
  void live() {
    if (armed && last_-- == 0) ::_exit(killed);
  }
  int last_;
};

std::string listed(test::Filled& root) { return test::entries_of(root.cabinet).value().front().facts.compiler; }

}  // namespace

TEST_CASE("a look-up returns the first entry of rank 0, else the best one") {
  test::Filled root(0, ranking());
  test::Filled first(0);
  test::Filled second(0);
  put(second, "good");
  REQUIRE(root.add_layer(first.layout.root));
  REQUIRE(root.add_layer(second.layout.root));
  CHECK(variant_found(root.cabinet) == "good");
  put(first, "fair");
  CHECK(variant_found(root.cabinet) == "good");
  put(root, "none");
  CHECK(variant_found(root.cabinet) == "good");
  fs::remove(first.layout.object(test::key_of(0)));
  put(first, "best");
  CHECK(variant_found(root.cabinet) == "best");
}

TEST_CASE("entries of a bundle are ranked like those of a folder") {
  test::Filled root(0, ranking());
  test::Filled shipped(0);
  put(root, "fair");
  put(shipped, "good");
  const fs::path file = shipped.folder / "bundle";
  REQUIRE(cache::export_bundle(shipped.maintenance(), {test::key_of(0)}, file, std::nullopt));
  REQUIRE(root.add_layer(file));
  CHECK(variant_found(root.cabinet) == "good");
}

TEST_CASE("of entries with equal rank a look-up returns the first") {
  test::Filled root(0, ranking());
  test::Filled layer(0);
  auto object = made_by("good");
  object.payload += "of the layer";
  REQUIRE(layer.cabinet.publish(test::key_of(0), object));
  put(root, "good");
  REQUIRE(root.add_layer(layer.layout.root));
  CHECK(variant_found(root.cabinet) == "good");
}

TEST_CASE("an entry that this process cannot use is a miss, and is not moved") {
  test::Filled root(0, ranking());
  put(root, "none");
  CHECK(variant_found(root.cabinet).empty());
  CHECK(root.cabinet.set_aside() == 0);
  CHECK(stored(root) == "none");
  CHECK(test::entries_of(root.cabinet)->size() == 1);
}

TEST_CASE("publishing replaces only an entry that is ranked worse or cannot be used") {
  const auto replaced = [](const std::string& present, const std::string& next) {
    test::Filled root(0, ranking());
    put(root, present);
    root.cabinet.record_hits({test::key_of(0)});
    const bool takes = root.cabinet.takes(test::key_of(0), made_by(next).facts);
    REQUIRE(root.cabinet.publish(test::key_of(0), made_by(next)));
    CHECK(listed(root) == stored(root));
    CHECK(test::entries_of(root.cabinet)->front().hits == 1);
    CHECK(root.maintenance().verify(false)->orphans == 0);
    CHECK(fs::is_empty(root.layout.tmp()));
    CHECK(takes == (stored(root) == next));
    return stored(root) == next;
  };
  CHECK(replaced("fair", "good"));
  CHECK(replaced("fair", "best"));
  CHECK(replaced("none", "fair"));
  CHECK_FALSE(replaced("good", "fair"));
  CHECK_FALSE(replaced("best", "good"));
  CHECK_FALSE(replaced("good", "none"));
  CHECK_FALSE(replaced("none", "else"));
}

TEST_CASE("without a preference the first publisher wins, whatever the compiler") {
  test::Filled root(0);
  put(root, "fair");
  REQUIRE(root.cabinet.publish(test::key_of(0), made_by("best")));
  CHECK(stored(root) == "fair");
}

TEST_CASE("an import replaces entries that are ranked worse") {
  test::Filled root(0);
  test::Filled shipped(0);
  put(root, "fair");
  put(shipped, "good");
  const fs::path file = shipped.folder / "bundle";
  REQUIRE(cache::export_bundle(shipped.maintenance(), {test::key_of(0)}, file, std::nullopt));
  const auto bundle = cache::Bundle::open(file, std::nullopt);
  REQUIRE(bundle);
  CHECK(cache::import_bundle(*bundle, root.layout.root, {})->there == 1);
  CHECK(stored(root) == "fair");
  CHECK(cache::import_bundle(*bundle, root.layout.root, ranking())->imported == 1);
  CHECK(stored(root) == "good");
}

TEST_CASE("a replacement that fails or is killed leaves the whole old or new entry, and a correct listing") {
  test::FaultyCalls counting;
  {
    test::Filled root(0);
    put(root, "fair");
    auto options = ranking();
    auto cabinet =
        Cabinet::open(root.layout.root, false, {.calls = counting, .preference = options.preference}).value();
    counting.calls = 0;
    REQUIRE(cabinet.publish(test::key_of(0), made_by("best")));
  }
  REQUIRE(counting.calls >= 6);
  for (int i = 0; i < counting.calls; ++i) {
    INFO("call " << i);
    test::Filled root(0);
    put(root, "fair");
    test::FaultyCalls calls;
    auto cabinet = Cabinet::open(root.layout.root, false, {.calls = calls, .preference = ranked}).value();
    calls.calls = 0;
    calls.fail_at = i;
    const bool published = cabinet.publish(test::key_of(0), made_by("best")).has_value();
    calls.fail_at = -1;
    CHECK((variant_found(cabinet) == "best" || (variant_found(cabinet) == "fair" && !published)));
    CHECK(fs::is_empty(root.layout.tmp()));
    CHECK(listed(root) == variant_found(cabinet));
    CHECK(root.maintenance().verify(false)->orphans == 0);
  }
}

TEST_CASE("a writer killed at any system call of a replacement leaves the whole old or new entry") {
  for (int last = 0;; ++last) {
    INFO("call " << last);
    test::Filled root(0);
    put(root, "fair");
    const int status = test::in_child([&] {
      DyingCalls calls(last);
      auto cabinet = Cabinet::open(root.layout.root, false, {.calls = calls, .preference = ranked}).value();
      calls.armed = true;
      return cabinet.publish(test::key_of(0), made_by("best")) ? 0 : 1;
    });
    auto cabinet = Cabinet::open(root.layout.root, false, ranking()).value();
    const std::string left = variant_found(cabinet);
    CHECK((left == "fair" || left == "best"));
    CHECK(test::entries_of(cabinet)->front().facts.compiler == left);
    CHECK(cache::Maintenance(cabinet).verify(false)->damaged.empty());
    if (status == 0) {
      CHECK(last >= 6);
      return;
    }
    REQUIRE(status == DyingCalls::killed);
  }
}

TEST_CASE("a reader during a replacement finds the old or the new entry, never a miss") {
  test::Filled root(0, ranking());
  put(root, "fair");
  const pid_t child = test::start_child([&] {
    const auto cabinet = Cabinet::open(root.layout.root, false, ranking());
    for (int i = 0; i < 2000; ++i) {
      const std::string by = variant_found(*cabinet);
      if (by == "best") return 0;
      if (by != "fair") return 1;
    }
    return 2;
  });
  ::usleep(5'000);
  REQUIRE(root.cabinet.publish(test::key_of(0), made_by("best")));
  CHECK(test::wait_for(child) == 0);
}

TEST_CASE("find_any also returns an entry that this process cannot use") {
  test::Filled root(0, ranking());
  put(root, "none");
  CHECK(variant_found(root.cabinet).empty());
  const auto unusable = root.cabinet.find_any(test::key_of(0), test::record_of(0));
  REQUIRE(unusable);
  CHECK(unusable->facts.compiler == "none");
  CHECK_FALSE(root.cabinet.find_any(test::key_of(1), test::record_of(1)));
}
