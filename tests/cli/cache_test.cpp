#include <algorithm>
#include <filesystem>
#include <fstream>
#include <tuple>

#include <nlohmann/json.hpp>

#include "cache/cabinet.hpp"
#include "catch.hpp"
#include "command.hpp"
#include "unit/cache/index_holder.hpp"

namespace {

using namespace cubinet::cli;
namespace fs = std::filesystem;

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

TEST_CASE("Inspecting a cabinet that does not exist is an error that creates nothing") {
  const Sandbox sandbox;
  const std::string root = sandbox.path("absent");
  const std::vector<Arguments> commands{{"ls"},
                                        {"show", "abcd"},
                                        {"stats"},
                                        {"verify"},
                                        {"verify", "--repair"},
                                        {"rm", "abcd"},
                                        {"explain", "abcd"},
                                        {"report", "page.html"}};
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
    const std::string config = entry.at("config");
    CHECK_FALSE(config.empty());
    CHECK(table.out.find(config) != std::string::npos);
    CHECK(object_of(sandbox.run({"cache", "show", entry.at("key"), "--json"})).at("config") == config);
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

TEST_CASE("A malformed, short or unknown key is refused") {
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

TEST_CASE("verify says why the index cannot be read, and --repair rebuilds it") {
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

TEST_CASE("verify names the keys that have no row and the rows that have no object") {
  const Sandbox sandbox;
  fill(sandbox);
  const std::vector<std::string> all = keys(sandbox);
  const std::filesystem::path objects = sandbox.path("home/.cache/cubinet/objects");
  std::filesystem::remove(objects / all.front().substr(0, 2) / (all.front().substr(2) + ".cubin"));
  const Outcome object = sandbox.run({"cache", "verify", "--json"});
  CHECK(object.exit_code == 1);
  CHECK(object_of(object).at("missing_keys") == nlohmann::json::array({all.front()}));
  CHECK(object_of(object).at("orphan_keys").empty());
  CHECK(sandbox.run({"cache", "verify"}).out.find("without an object: " + all.front() + "\n") != std::string::npos);
}

TEST_CASE("a folder with an unexpanded ~ is refused before any work, with what to write instead") {
  Sandbox sandbox;
  const Outcome option = sandbox.run({"cache", "ls", "--cache=~/cubinet"});
  CHECK(option.exit_code == 2);
  CHECK(option.err.find("$HOME") != std::string::npos);
  sandbox.environment["CUBINET_CACHE_DIR"] = "~/.cache";
  CHECK(sandbox.run({"cache", "ls"}).err.find("~/.cache begins with ~") != std::string::npos);
}

TEST_CASE("verify finds a damaged index without objects, and no damage if there is no index yet") {
  const Sandbox sandbox;
  const std::string root = sandbox.path("root");
  REQUIRE(cubinet::cache::Cabinet::open(root, true));
  const Outcome fresh = sandbox.run({"cache", "verify", "--cache", root, "--json"});
  CHECK(fresh.exit_code == 0);
  CHECK(object_of(fresh).at("index_problem") == "");
  cubinet::test::write_file(root + "/index.db", "noise");
  const Outcome damaged = sandbox.run({"cache", "verify", "--cache", root, "--json"});
  CHECK(damaged.exit_code == 1);
  CHECK(object_of(damaged).at("index_problem") != "");
  CHECK(damaged.err.find("--repair") != std::string::npos);
  CHECK(sandbox.run({"cache", "verify", "--repair", "--cache", root}).exit_code == 0);
  CHECK(sandbox.run({"cache", "verify", "--cache", root}).exit_code == 0);
}

TEST_CASE("Leftovers of killed writers are counted, and the exit code stays 0, as --help says") {
  const Sandbox sandbox;
  fill(sandbox);
  cubinet::test::write_file(sandbox.path("home/.cache/cubinet/tmp/half"), "half");
  const Outcome found = sandbox.run({"cache", "verify", "--json"});
  CHECK(found.exit_code == 0);
  CHECK(object_of(found).at("leftovers") == 1);
  CHECK(sandbox.run({"cache", "verify", "--help"}).out.find("leftovers") != std::string::npos);
  const Outcome text = sandbox.run({"cache", "verify"});
  CHECK(text.out.find("harmless") != std::string::npos);
  CHECK(text.out.find("--repair` removes them") != std::string::npos);
  CHECK(sandbox.run({"cache", "verify", "--repair"}).out.find("harmless") == std::string::npos);
  CHECK(sandbox.run({"cache", "verify"}).out.find("harmless") == std::string::npos);
}

TEST_CASE("verify finds a damaged object, --repair moves it to quarantine, and the next warmup compiles it again") {
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

TEST_CASE("ls is sorted by family, N, K and configuration") {
  const Sandbox sandbox;
  REQUIRE(sandbox
              .run({"warmup", "--shape", "1024,128,2", "256,256,2", "256,128,2", "--layout", "masked", "--m-max",
                    "4096", "--quiet"})
              .exit_code == 0);
  const auto entries = object_of(sandbox.run({"cache", "ls", "--json"})).at("entries");
  std::vector<std::tuple<std::string, int, int, std::string>> order;
  for (const auto& entry : entries) {
    order.emplace_back(entry.at("family"), entry.at("n"), entry.at("k"), entry.at("config"));
  }
  REQUIRE(order.size() >= 3);
  CHECK(std::is_sorted(order.begin(), order.end()));
  CHECK(std::adjacent_find(order.begin(), order.end()) == order.end());
}

TEST_CASE("ls and stats say how many damaged files they leave out, and do not move them") {
  const Sandbox sandbox;
  fill(sandbox);
  const std::string key = keys(sandbox).front();
  fs::permissions(object_path(sandbox, key), fs::perms::owner_write, fs::perm_options::add);
  fs::resize_file(object_path(sandbox, key), 100);
  const Outcome listing = sandbox.run({"cache", "ls", "--json"});
  CHECK(listing.exit_code == 0);
  CHECK(object_of(listing).at("entries").size() == 1);
  CHECK(object_of(listing).at("damaged") == nlohmann::json::array({key}));
  CHECK(listing.err.find("1 damaged file") != std::string::npos);
  CHECK(listing.err.find("cache verify --repair") != std::string::npos);
  const Outcome stats = sandbox.run({"cache", "stats", "--json"});
  CHECK(object_of(stats).at("damaged") == 1);
  CHECK(stats.err.find("1 damaged file") != std::string::npos);
  const Outcome shown = sandbox.run({"cache", "show", key.substr(0, 12)});
  CHECK(shown.exit_code == 1);
  CHECK(shown.err.find("is damaged") != std::string::npos);
  CHECK(fs::file_size(object_path(sandbox, key)) == 100);
  CHECK(sandbox.run({"cache", "verify", "--repair"}).exit_code == 0);
  CHECK(sandbox.run({"cache", "ls"}).err.empty());
}

TEST_CASE("show checks every byte of the object and reports damage") {
  const Sandbox sandbox;
  fill(sandbox);
  const std::string key = keys(sandbox).front();
  const fs::path object = object_path(sandbox, key);
  std::string bytes = cubinet::test::contents(object);
  bytes[200] = static_cast<char>(bytes[200] ^ 1);
  fs::remove(object);
  cubinet::test::write_file(object, bytes);
  const Outcome shown = sandbox.run({"cache", "show", key, "--json"});
  CHECK(shown.exit_code == 1);
  CHECK(object_of(shown).contains("error"));
  CHECK(shown.err.find("is damaged") != std::string::npos);
  CHECK(fs::exists(object));
}

TEST_CASE("While another process holds the index every command says so, and none reports damage") {
  const Sandbox sandbox;
  fill(sandbox);
  const std::string key = keys(sandbox).front();
  {
    const cubinet::test::IndexHolder holder(sandbox.path("home/.cache/cubinet/index.db"));
    const auto run = [&](Arguments arguments) {
      arguments.insert(arguments.begin(), "cache");
      arguments.emplace_back("--json");
      Outcome outcome = sandbox.run(arguments);
      INFO(outcome.err);
      CHECK(outcome.exit_code == 0);
      CHECK(outcome.err.find("busy") != std::string::npos);
      return object_of(outcome);
    };
    const auto listing = run({"ls"});
    REQUIRE(listing.at("entries").size() == 2);
    CHECK(listing.at("entries")[0].at("hits").is_null());
    CHECK(run({"stats"}).at("hits").is_null());
    const auto verified = run({"verify"});
    CHECK(verified.at("orphans") == 0);
    CHECK(verified.at("checked") == 2);
    CHECK(verified.at("index_busy") == true);
    const Outcome repair = sandbox.run({"cache", "verify", "--repair", "--json"});
    CHECK(repair.exit_code == 1);
    CHECK(object_of(repair).at("repaired") == false);
    CHECK(run({"rm", key}).at("index_problem") != "");
  }
  CHECK(keys(sandbox).size() == 1);
  CHECK(sandbox.run({"cache", "verify"}).exit_code == 0);
}

TEST_CASE("The --help of each command gives an example and every field that --json prints") {
  const Sandbox sandbox;
  fill(sandbox);
  const std::string key = keys(sandbox).front();
  for (const Arguments& command :
       std::vector<Arguments>{{"ls"}, {"stats"}, {"verify"}, {"report", "page.html"}, {"show", key}, {"rm", key}}) {
    const std::string help = sandbox.run({"cache", command.front(), "--help"}).out;
    INFO(help);
    CHECK(help.find("Example:\n  cubinet cache " + command.front()) != std::string::npos);
    Arguments arguments{"cache"};
    arguments.insert(arguments.end(), command.begin(), command.end());
    arguments.emplace_back("--json");
    auto object = object_of(sandbox.run(arguments));
    if (command.front() == "ls") object.update(object.at("entries")[0]);
    for (const auto& [name, value] : object.items()) {
      INFO(name);
      CHECK((help.find("  " + name + " ") != std::string::npos || help.find(name + ",") != std::string::npos ||
             help.find(", " + name) != std::string::npos));
    }
  }
}
