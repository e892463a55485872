#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "command.hpp"

namespace {

using namespace cubinet::cli;
namespace fs = std::filesystem;

// A cabinet with two kernels, under the sandbox's home.
void fill(const Sandbox& sandbox) {
  const Outcome outcome =
      sandbox.run({"warmup", "--shape", "128,128,2", "256,128,2", "--layout", "masked", "--m-max", "8", "--quiet"});
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
}

std::vector<std::string> keys(const Sandbox& sandbox) {
  std::vector<std::string> found;
  const auto listing = object_of(sandbox.run({"cache", "ls", "--json"}));
  for (const auto& entry : listing.at("entries")) found.push_back(entry.at("key"));
  return found;
}

fs::path object_path(const Sandbox& sandbox, const std::string& key) {
  for (const auto& entry : fs::recursive_directory_iterator(sandbox.path("home/.cache/cubinet/objects"))) {
    const std::string name = entry.path().parent_path().filename().string() + entry.path().stem().string();
    if (entry.is_regular_file() && name == key) return entry.path();
  }
  FAIL("no object of " << key);
  return {};
}

}  // namespace

TEST_CASE("Looking into a cabinet that is not there is an error that creates nothing") {
  const Sandbox sandbox;
  const std::string root = sandbox.path("absent");
  const std::vector<Arguments> commands{{"ls"},     {"show", "abcd"},       {"stats"},
                                        {"verify"}, {"verify", "--repair"}, {"rm", "abcd"}};
  for (Arguments command : commands) {
    command.insert(command.begin(), "cache");
    command.insert(command.end(), {"--cache", root, "--json"});
    const Outcome outcome = sandbox.run(command);
    INFO(outcome.err);
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.err.find(root) != std::string::npos);
    CHECK(object_of(outcome).contains("error"));
    CHECK(contents(sandbox.folder()).empty());
  }
}

TEST_CASE("ls lists every entry, as a table and as an object with the fields that others read") {
  const Sandbox sandbox;
  fill(sandbox);
  const auto entries = object_of(sandbox.run({"cache", "ls", "--json"})).at("entries");
  REQUIRE(entries.size() == 2);
  const Outcome table = sandbox.run({"cache", "ls"});
  CHECK(table.exit_code == 0);
  for (const auto& entry : entries) {
    CHECK(table.out.find(entry.at("key").get<std::string>().substr(0, 12)) != std::string::npos);
    CHECK(entry.at("family") == "bf16_grouped_masked");
    CHECK(entry.at("arch") == "sm_90a");
    CHECK(entry.at("k") == 128);
    CHECK(entry.at("bytes") > 1000);
    CHECK(entry.at("created") > 1'600'000'000);
    CHECK(entry.at("hits") == 0);
    CHECK(entry.at("last_used") == 0);
    CHECK(entry.at("registers") > 16);
    CHECK(entry.at("spill_bytes") >= 0);
    CHECK(entry.at("smem_bytes") > 1000);
    CHECK(entry.at("compile_ms") > 0);
  }
}

TEST_CASE("show takes the beginning of a key and prints the record") {
  const Sandbox sandbox;
  fill(sandbox);
  const std::string key = keys(sandbox).front();
  const auto entry = object_of(sandbox.run({"cache", "show", key.substr(0, 8), "--json"}));
  CHECK(entry.at("key") == key);
  CHECK(entry.at("record").at("family") == "bf16_grouped_masked");
  CHECK(entry.at("kernel_names").size() == 1);
  const Outcome text = sandbox.run({"cache", "show", key});
  CHECK(text.exit_code == 0);
  CHECK(text.out.find(key) != std::string::npos);
  CHECK(text.out.find("per thread") != std::string::npos);
}

TEST_CASE("A key that is none, too short or of no entry is refused") {
  const Sandbox sandbox;
  fill(sandbox);
  for (const char* command : {"show", "rm"}) {
    for (const std::string& key :
         {std::string("abc"), std::string("xyzw"), std::string("../.."), std::string("%%%%"), std::string(65, 'a')}) {
      const Outcome outcome = sandbox.run({"cache", command, key});
      CHECK(outcome.exit_code == 2);
      CHECK(outcome.err.find(key) != std::string::npos);
    }
    std::string other = keys(sandbox).front();
    other.back() = other.back() == '0' ? '1' : '0';
    CHECK(sandbox.run({"cache", command, other}).exit_code == 1);
  }
  CHECK(keys(sandbox).size() == 2);
}

TEST_CASE("rm removes the one entry that it names, and stats count what is left") {
  const Sandbox sandbox;
  fill(sandbox);
  const std::vector<std::string> before = keys(sandbox);
  const auto removed = object_of(sandbox.run({"cache", "rm", before.front(), "--json"}));
  CHECK(removed.at("removed") == nlohmann::json::array({before.front()}));
  CHECK(keys(sandbox) == std::vector<std::string>{before.back()});
  const auto stats = object_of(sandbox.run({"cache", "stats", "--json"}));
  CHECK(stats.at("entries") == 1);
  CHECK(stats.at("bytes") > 1000);
  CHECK(sandbox.run({"cache", "stats"}).out.find("entries      1\n") != std::string::npos);
}

TEST_CASE("verify says why the index cannot be read, and --repair makes it anew") {
  const Sandbox sandbox;
  fill(sandbox);
  CHECK(object_of(sandbox.run({"cache", "verify", "--json"})).at("index_problem") == "");
  cubinet::test::write_file(sandbox.path("home/.cache/cubinet/index.db"), "noise");
  const Outcome object = sandbox.run({"cache", "verify", "--json"});
  CHECK(object.exit_code == 1);
  CHECK(object_of(object).at("orphans") == 2);
  CHECK(object_of(object).at("index_problem").get<std::string>().find("index.db") != std::string::npos);
  const Outcome text = sandbox.run({"cache", "verify"});
  CHECK(text.out.find("index: ") == 0);
  CHECK(text.out.find("index.db") != std::string::npos);
  const Outcome repaired = sandbox.run({"cache", "verify", "--repair", "--json"});
  CHECK(repaired.exit_code == 0);
  CHECK(object_of(repaired).at("repaired") == true);
  CHECK(object_of(repaired).at("unmended") == 0);
  CHECK(object_of(sandbox.run({"cache", "verify", "--json"})).at("index_problem") == "");
}

TEST_CASE("Leftovers of killed writers are counted, and the exit code stays 0, as --help says") {
  const Sandbox sandbox;
  fill(sandbox);
  cubinet::test::write_file(sandbox.path("home/.cache/cubinet/tmp/half"), "half");
  const Outcome found = sandbox.run({"cache", "verify", "--json"});
  CHECK(found.exit_code == 0);
  CHECK(object_of(found).at("leftovers") == 1);
  CHECK(sandbox.run({"cache", "verify", "--help"}).out.find("leftovers") != std::string::npos);
}

TEST_CASE("verify finds a damaged object, --repair sets it aside, and the next warmup makes it again") {
  const Sandbox sandbox;
  fill(sandbox);
  CHECK(sandbox.run({"cache", "verify"}).exit_code == 0);
  const std::string key = keys(sandbox).front();
  const fs::path object = object_path(sandbox, key);
  fs::permissions(object, fs::perms::owner_write, fs::perm_options::add);
  {
    std::fstream stream(object, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(200);
    stream.put('\x55').put('\xAA');
  }
  const Outcome found = sandbox.run({"cache", "verify", "--json"});
  CHECK(found.exit_code == 1);
  CHECK(object_of(found).at("checked") == 2);
  CHECK(object_of(found).at("damaged") == nlohmann::json::array({key}));
  CHECK(found.err.find("--repair") != std::string::npos);

  CHECK(sandbox.run({"cache", "verify", "--repair"}).exit_code == 0);
  const Outcome sound = sandbox.run({"cache", "verify", "--json"});
  CHECK(sound.exit_code == 0);
  CHECK(object_of(sound).at("checked") == 1);
  fill(sandbox);
  CHECK(keys(sandbox).size() == 2);
}
