// Tests of limits and pins.
#include <filesystem>

#include <nlohmann/json.hpp>

#include "cache/cabinet.hpp"
#include "catch.hpp"
#include "command.hpp"
#include "unit/cache/set_clock.hpp"
#include "unit/cache/support.hpp"

namespace {

using namespace cubinet::cli;
namespace fs = std::filesystem;
namespace test = cubinet::test;

constexpr std::int64_t day = 86'400;

// Entries 0 .. 4 in a cabinet of the sandbox; entry i was used i days ago.
struct Cabinet {
  Cabinet() {
    clock.now = cubinet::util::system_clock().seconds() - 5 * day;
    auto opened = cubinet::cache::Cabinet::open(root, true, {.clock = clock}).value();
    for (int i = 4; i >= 0; --i) {
      clock.now += day;
      if (!opened.publish(test::key_of(i), test::object_of(i))) throw std::runtime_error("not stored");
      opened.record_hits({test::key_of(i)});
    }
  }
  Outcome run(Arguments arguments) const {
    arguments.insert(arguments.begin(), "cache");
    arguments.insert(arguments.end(), {"--cache", root});
    return sandbox.run(arguments);
  }
  [[nodiscard]] bool there(int number) const {
    return fs::exists(cubinet::cache::Layout{root}.object(test::key_of(number)));
  }

  Sandbox sandbox;
  std::string root = sandbox.path("root");
  test::SetClock clock;
};

std::vector<std::string> evicted(const nlohmann::json& object) {
  std::vector<std::string> keys;
  for (const auto& entry : object.at("evicted")) keys.push_back(entry.at("key"));
  return keys;
}

}  // namespace

TEST_CASE("gc evicts the least recently used entries, and a dry run prints the same and removes nothing") {
  const Cabinet cabinet;
  const Outcome dry = cabinet.run({"gc", "--max-entries", "3", "--dry-run", "--json"});
  CHECK(dry.exit_code == 0);
  const auto planned = object_of(dry);
  CHECK(planned.at("dry_run") == true);
  CHECK(evicted(planned) == std::vector<std::string>{test::key_of(4).hex(), test::key_of(3).hex()});
  CHECK(planned.at("evicted")[0].at("reason") == "entries");
  CHECK(cabinet.there(4));
  const auto done = object_of(cabinet.run({"gc", "--max-entries", "3", "--json"}));
  CHECK(done.at("dry_run") == false);
  CHECK(evicted(done) == evicted(planned));
  CHECK(done.at("bytes") == planned.at("bytes"));
  CHECK(done.at("entries_left") == 3);
  CHECK(done.at("over") == false);
  CHECK_FALSE(cabinet.there(4));
  CHECK_FALSE(cabinet.there(3));
  const auto stats = object_of(cabinet.run({"stats", "--json"}));
  CHECK(stats.at("entries") == 3);
  CHECK(stats.at("counters").at("evictions") == 2);
  CHECK(object_of(cabinet.run({"verify", "--json"})).at("missing") == 0);
}

TEST_CASE("gc takes ages and sizes, and without options the limits of the environment") {
  const Cabinet cabinet;
  const auto old = object_of(cabinet.run({"gc", "--max-age", "60h", "--dry-run", "--json"}));
  CHECK(evicted(old) == std::vector<std::string>{test::key_of(4).hex(), test::key_of(3).hex()});
  CHECK(old.at("evicted")[0].at("reason") == "age");
  CHECK(evicted(object_of(cabinet.run({"gc", "--max-size", "1", "--dry-run", "--json"}))).size() == 5);
  for (const char* limit : {"--max-size", "--max-entries", "--max-age"}) {
    for (const char* none : {"0", "none"}) {
      const Outcome outcome = cabinet.run({"gc", limit, none, "--dry-run", "--json"});
      INFO(limit << ' ' << none << outcome.err);
      CHECK(outcome.exit_code == 0);
      CHECK(evicted(object_of(outcome)).empty());
    }
  }
  CHECK(evicted(object_of(cabinet.run({"gc", "--dry-run", "--json"}))).empty());
  const Outcome text = cabinet.run({"gc", "--max-size", "1", "--dry-run"});
  CHECK(text.out.find("would remove 5 entries") != std::string::npos);
  CHECK(text.out.find(test::key_of(4).hex().substr(0, 12)) == 0);
  for (int i = 0; i < 5; ++i) CHECK(cabinet.there(i));
}

TEST_CASE("gc refuses wrong limits by name, and a folder that is not a cabinet") {
  const Cabinet cabinet;
  for (const Arguments& limit : {Arguments{"--max-size", "lots"}, {"--max-entries", "1.5"}, {"--max-age", "5 years"}}) {
    const Outcome outcome = cabinet.run({"gc", limit[0], limit[1]});
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.err.find(limit[0]) != std::string::npos);
    CHECK(outcome.err.find(limit[1]) != std::string::npos);
  }
  const std::string strange = cabinet.sandbox.path("strange");
  fs::create_directories(fs::path(strange) / "objects");
  test::write_file(fs::path(strange) / "objects" / "mine", "x");
  CHECK(cabinet.sandbox.run({"cache", "gc", "--max-size", "1", "--cache", strange}).exit_code == 1);
  CHECK(test::contents(fs::path(strange) / "objects" / "mine") == "x");
}

TEST_CASE("a pinned entry is shown as pinned and survives a gc, whose exit code says that the limit is exceeded") {
  const Cabinet cabinet;
  const std::string key = test::key_of(4).hex();
  CHECK(object_of(cabinet.run({"pin", key.substr(0, 10), test::key_of(3).hex(), "--json"})).at("pinned").size() == 2);
  CHECK(object_of(cabinet.run({"show", key, "--json"})).at("pinned") == true);
  CHECK(cabinet.run({"ls"}).out.find("pinned") != std::string::npos);
  const Outcome gc = cabinet.run({"gc", "--max-size", "1"});
  CHECK(gc.exit_code == 1);
  CHECK(gc.err.find("pinned, in use") != std::string::npos);
  CHECK(cabinet.there(4));
  CHECK(cabinet.there(3));
  CHECK_FALSE(cabinet.there(0));
  CHECK(object_of(cabinet.run({"unpin", key, "--json"})).at("unpinned") == nlohmann::json::array({key}));
  CHECK(cabinet.run({"unpin", key}).exit_code == 1);
  REQUIRE(cabinet.run({"gc", "--max-size", "1"}).exit_code == 1);
  CHECK_FALSE(cabinet.there(4));
}

TEST_CASE("pin refuses a wrong or unknown key, and then pins none of several") {
  const Cabinet cabinet;
  CHECK(cabinet.run({"pin", "xyz"}).exit_code == 2);
  CHECK(cabinet.run({"pin", test::key_of(0).hex(), test::key_of(99).hex()}).exit_code == 1);
  CHECK(object_of(cabinet.run({"show", test::key_of(0).hex(), "--json"})).at("pinned") == false);
}

TEST_CASE("unpin removes each pin, and says which keys had none") {
  const Cabinet cabinet;
  const std::string pinned = test::key_of(0).hex();
  const std::string other = test::key_of(1).hex();
  CHECK(object_of(cabinet.run({"pin", pinned, pinned.substr(0, 12), "--json"})).at("pinned") ==
        nlohmann::json::array({pinned}));
  const Outcome outcome = cabinet.run({"unpin", other, pinned, pinned, "--json"});
  CHECK(outcome.exit_code == 1);
  CHECK(outcome.err.find(other) != std::string::npos);
  const auto object = object_of(outcome);
  CHECK(object.at("unpinned") == nlohmann::json::array({pinned}));
  REQUIRE(object.at("failures").size() == 1);
  CHECK(object.at("failures")[0].at("key") == other);
  CHECK(object.at("failures")[0].at("code") == "not_found");
  CHECK(object_of(cabinet.run({"show", pinned, "--json"})).at("pinned") == false);
}

TEST_CASE("a warmup counts misses and compilations, and the one after it hits") {
  const Sandbox sandbox;
  const Arguments warmup{"warmup",  "--shape", "128,128,2",    "--layout", "masked",
                         "--m-max", "8",       "--no-generic", "--quiet"};
  REQUIRE(sandbox.run(warmup).exit_code == 0);
  const auto counters = [&] { return object_of(sandbox.run({"cache", "stats", "--json"})).at("counters"); };
  CHECK(counters().at("misses") == 1);
  CHECK(counters().at("compiles") == 1);
  CHECK(counters().at("hits") == 0);
  REQUIRE(sandbox.run(warmup).exit_code == 0);
  CHECK(counters().at("misses") == 1);
  CHECK(counters().at("hits") == 1);
  CHECK(sandbox.run({"cache", "stats"}).out.find("look-ups     1 hits, 1 misses") != std::string::npos);
}

TEST_CASE("a warmup beyond the root's limit keeps to the limit, and records no coverage") {
  Sandbox sandbox;
  sandbox.environment["CUBINET_CACHE_MAX_ENTRIES"] = "1";
  const Outcome outcome = sandbox.run({"warmup", "--shape", "128,128,2", "256,128,2", "--layout", "masked", "--m-max",
                                       "8", "--no-generic", "--quiet", "--json"});
  CHECK(outcome.exit_code == 1);
  CHECK(outcome.err.find("1 of 2 kernels of the plan have been removed") != std::string::npos);
  CHECK(object_of(outcome).at("compiled") == 2);
  CHECK(object_of(outcome).at("stored") == 1);
  CHECK(object_of(outcome).at("persist") == "off");
  CHECK(object_of(outcome).at("persist_problem").get<std::string>().find("CUBINET_CACHE_MAX_ENTRIES") !=
        std::string::npos);
  CHECK(object_of(outcome).at("coverage") == "none");
  const auto stats = object_of(sandbox.run({"cache", "stats", "--json"}));
  CHECK(stats.at("entries") == 1);
  CHECK(stats.at("coverage").empty());
  CHECK(stats.at("counters").at("evictions") == 1);
}

TEST_CASE("a wrong limit in the environment is refused before any work, with the variable's name") {
  Sandbox sandbox;
  sandbox.environment["CUBINET_CACHE_MAX_SIZE"] = "lots";
  const Outcome outcome = sandbox.run({"warmup", "--shape", "128,128,2", "--layout", "masked", "--m-max", "8"});
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.err.find("CUBINET_CACHE_MAX_SIZE") != std::string::npos);
  CHECK(contents(sandbox.folder()).empty());
}
