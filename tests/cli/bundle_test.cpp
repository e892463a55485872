// Tests of export and import of bundles, and of bundles that are refused.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include <nlohmann/json.hpp>

#include "cache/bundle_transfer.hpp"
#include "catch.hpp"
#include "command.hpp"
#include "synthetic_cabinet.hpp"
#include "unit/cache/bundle_builder.hpp"

namespace {

using namespace cubinet::cli;
namespace fs = std::filesystem;
namespace test = cubinet::test;

std::vector<std::string> keys(const Sandbox& sandbox, const std::string& root) {
  std::vector<std::string> found;
  const auto listing = object_of(sandbox.run({"cache", "ls", "--json", "--cache", root}));
  for (const auto& entry : listing.at("entries")) found.push_back(entry.at("key"));
  return found;
}

// Runs `cubinet cache ...` and returns the object that it prints.
nlohmann::json cache(const Sandbox& sandbox, Arguments arguments) {
  arguments.insert(arguments.begin(), "cache");
  arguments.emplace_back("--json");
  const Outcome outcome = sandbox.run(arguments);
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return object_of(outcome);
}

void check_refused(const Sandbox& sandbox, Arguments arguments, int exit_code, const std::string& said) {
  arguments.insert(arguments.begin(), "cache");
  const auto before = contents(sandbox.folder());
  const Outcome outcome = sandbox.run(arguments);
  INFO(outcome.err);
  CHECK(outcome.exit_code == exit_code);
  CHECK(outcome.err.find(said) != std::string::npos);
  CHECK(contents(sandbox.folder()) == before);
}

// Creates a cabinet with `count` small entries that are not kernels.
void fill(const fs::path& root, int count) {
  auto cabinet = cubinet::cache::Cabinet::open(root, true).value();
  for (int i = 0; i < count; ++i) REQUIRE(cabinet.publish(test::key_of(i), test::object_of(i)));
}

// Waits until the root, which another process fills, has `wanted` objects.
void await_objects(const fs::path& root, std::size_t wanted) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::size_t found = 0;
  while (found < wanted && std::chrono::steady_clock::now() < deadline) {
    const auto names = fs::exists(root / "objects") ? contents(root / "objects") : std::vector<std::string>();
    found = static_cast<std::size_t>(
        std::count_if(names.begin(), names.end(), [](const auto& name) { return name.ends_with(".cubin"); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  REQUIRE(found >= wanted);
}

}  // namespace

TEST_CASE("Two kernels are exported, imported into an empty root, and need no compilation there") {
  Sandbox sandbox;
  fill(sandbox);
  const std::string bundle = sandbox.path("model.cubinet");
  const auto exported = cache(sandbox, {"export", bundle});
  CHECK(exported.at("entries") == 2);
  CHECK(exported.at("bytes") == fs::file_size(bundle));
  CHECK(exported.at("object_bytes") > 2 * fs::file_size(bundle));
  CHECK(exported.at("arch") == nlohmann::json::array({"sm_90a"}));
  const std::string root = sandbox.path("other");
  const auto imported = cache(sandbox, {"import", bundle, "--cache", root});
  CHECK(imported.at("imported") == 2);
  CHECK(imported.at("there") == 0);
  CHECK(imported.at("bytes") == exported.at("object_bytes"));
  CHECK(imported.at("signature") == "none");
  CHECK(keys(sandbox, root) == keys(sandbox, home_root(sandbox)));
  CHECK(sandbox.run({"cache", "verify", "--cache", root}).exit_code == 0);
  const auto again = object_of(sandbox.run({"warmup", "--shape", "128,128,2", "256,128,2", "--layout", "masked",
                                            "--m-max", "8", "--no-generic", "--cache", root, "--json"}));
  CHECK(again.at("compiled") == 0);
  CHECK(again.at("hits") == 2);
  const auto twice = cache(sandbox, {"import", bundle, "--cache", root});
  CHECK(twice.at("there") == 2);
  CHECK(twice.at("imported") == 0);
}

TEST_CASE("Two exports of the same entries are identical, also after the entries were used or imported") {
  const Sandbox sandbox;
  fill(sandbox);
  cache(sandbox, {"export", sandbox.path("first")});
  fill(sandbox);  // hits
  cache(sandbox, {"export", sandbox.path("second")});
  CHECK(test::contents(sandbox.path("first")) == test::contents(sandbox.path("second")));
  cache(sandbox, {"import", sandbox.path("first"), "--cache", sandbox.path("other")});
  cache(sandbox, {"export", sandbox.path("third"), "--cache", sandbox.path("other")});
  CHECK(test::contents(sandbox.path("first")) == test::contents(sandbox.path("third")));
}

TEST_CASE("A plan, an architecture or keys select what is exported") {
  const Sandbox sandbox;
  fill(sandbox);
  const Arguments plan{"--shape", "256,128,2", "--layout", "masked", "--m-max", "8", "--no-generic"};
  Arguments arguments{"plan", "--json"};
  arguments.insert(arguments.end(), plan.begin(), plan.end());
  const std::string key = object_of(sandbox.run(arguments)).at("kernels")[0].at("key");

  arguments = {"export", sandbox.path("plan"), "--plan"};
  arguments.insert(arguments.end(), plan.begin(), plan.end());
  CHECK(cache(sandbox, arguments).at("entries") == 1);
  cache(sandbox, {"import", sandbox.path("plan"), "--cache", sandbox.path("a")});
  CHECK(keys(sandbox, sandbox.path("a")) == std::vector<std::string>{key});
  cache(sandbox, {"export", sandbox.path("key"), key.substr(0, 10), key});
  CHECK(test::contents(sandbox.path("plan")) == test::contents(sandbox.path("key")));
  CHECK(cache(sandbox, {"export", sandbox.path("arch"), "--arch", "sm_90a"}).at("entries") == 2);
}

TEST_CASE("A plan with missing kernels is not exported, and each missing one is named") {
  const Sandbox sandbox;
  fill(sandbox);
  const Arguments plan{"--shape", "128,128,2", "512,128,2", "--layout", "masked", "--m-max", "8", "--no-generic"};
  Arguments arguments{"plan", "--json"};
  arguments.insert(arguments.end(), plan.begin(), plan.end());
  const auto planned = object_of(sandbox.run(arguments));
  const auto present = keys(sandbox, home_root(sandbox));
  arguments = {"export", sandbox.path("file"), "--plan"};
  arguments.insert(arguments.end(), plan.begin(), plan.end());
  int missing = 0;
  for (const auto& kernel : planned.at("kernels")) {
    const std::string key = kernel.at("key");
    if (std::find(present.begin(), present.end(), key) != present.end()) continue;
    ++missing;
    check_refused(sandbox, arguments, 1, key);
  }
  CHECK(missing == 1);
  check_refused(sandbox, arguments, 1, "1 of 2 kernels of the plan");
}

TEST_CASE("A wrong export command is refused before any work, and one without entries writes no file") {
  const Sandbox sandbox;
  fill(home_root(sandbox), 2);
  const std::string file = sandbox.path("file");
  check_refused(sandbox, {"export"}, 2, "FILE");
  check_refused(sandbox, {"export", file, "--model", example_model("deepseek-v3")}, 2, "--plan");
  check_refused(sandbox, {"export", file, "--plan"}, 2, "nothing to plan for");
  check_refused(sandbox, {"export", file, "--plan", "--shape", "1,1"}, 2, "--shape");
  check_refused(sandbox, {"export", file, "abcd", "--plan", "--shape", "128,128,2"}, 2, "KEY");
  check_refused(sandbox, {"export", file, "abcd", "--arch", "sm_90a"}, 2, "KEY");
  check_refused(sandbox, {"export", file, "xyz"}, 2, "'xyz'");
  check_refused(sandbox, {"export", file, std::string(64, '0')}, 1, "no entry's key begins with");
  check_refused(sandbox, {"export", file, "--arch", "sm_100a"}, 1, "sm_100a");
  check_refused(sandbox, {"export", file, "--sign", ""}, 2, "--sign");
  check_refused(sandbox, {"export", file, "--sign", sandbox.path("absent.pem")}, 2, "absent.pem");
  const std::string key = sandbox.file("private.pem", test::private_pem);
  const std::string model = sandbox.file("model.json", "model");
  check_refused(sandbox, {"export", key, "--sign", key}, 2, "--sign");
  check_refused(sandbox, {"export", model, "--plan", "--model", model}, 2, "is the input file of --model");
  CHECK(test::contents(key) == test::private_pem);
  CHECK(test::contents(model) == "model");
  check_refused(sandbox, {"export", sandbox.path("none/file")}, 1, "none");
  check_refused(sandbox, {"export", file, "--cache", sandbox.path("none")}, 1, "none");
  test::write_file(cubinet::cache::Layout{home_root(sandbox)}.object(test::key_of(1)), "damaged");
  check_refused(sandbox, {"export", file}, 1, "cubinet cache verify --repair");
}

TEST_CASE("A damaged bundle is refused as a whole: exit code 1, and the root is unchanged or not created") {
  const Sandbox sandbox;
  const std::string bytes = test::written_bundle({0, 1, 2});
  std::string last_byte = bytes;
  last_byte.back() = static_cast<char>(last_byte.back() ^ 1);
  for (const std::string& bad : {last_byte, bytes.substr(0, bytes.size() - 1), bytes + "x", std::string("hello")}) {
    check_refused(sandbox, {"import", sandbox.file("bad", bad), "--cache", sandbox.path("root")}, 1, "is refused");
  }
  check_refused(sandbox, {"import", sandbox.path("absent")}, 1, "absent");
  check_refused(sandbox, {"import", sandbox.folder().string()}, 1, "not a regular file");
  fill(sandbox.path("root"), 1);
  const auto before = test::snapshot(sandbox.path("root"));
  check_refused(sandbox, {"import", sandbox.file("bad", last_byte), "--cache", sandbox.path("root")}, 1, "digest");
  CHECK(test::snapshot(sandbox.path("root")) == before);
}

TEST_CASE("An import beyond the root's limits says how many entries are not stored, with exit code 1") {
  Sandbox sandbox;
  fill_synthetic(sandbox, 4);
  const std::string bundle = sandbox.path("bundle");
  REQUIRE(sandbox.run({"cache", "export", bundle}).exit_code == 0);
  sandbox.environment["CUBINET_CACHE_MAX_ENTRIES"] = "3";
  const Outcome imported = sandbox.run({"cache", "import", bundle, "--cache", sandbox.path("root"), "--json"});
  CHECK(imported.exit_code == 1);
  CHECK(imported.err.find("CUBINET_CACHE_MAX_ENTRIES") != std::string::npos);
  const auto entries = object_of(sandbox.run({"cache", "ls", "--cache", sandbox.path("root"), "--json"})).at("total");
  CHECK(object_of(imported).at("imported") == entries);
  CHECK(object_of(imported).at("evicted") == 4 - entries.get<int>());
  CHECK(object_of(imported).at("evicted") > 0);
}

TEST_CASE("With a key, from an option or the environment, only what it has signed is imported") {
  Sandbox sandbox;
  fill(home_root(sandbox), 2);
  const std::string own = sandbox.file("private.pem", test::private_pem);
  const std::string other = sandbox.file("other.pem", test::other_private_pem);
  const std::string key = sandbox.file("public.pem", test::public_pem);
  const std::string good = sandbox.path("good"), bare = sandbox.path("bare"), wrong = sandbox.path("wrong");
  CHECK(cache(sandbox, {"export", good, "--sign", own}).at("signed") == true);
  CHECK(cache(sandbox, {"export", bare}).at("signed") == false);
  cache(sandbox, {"export", wrong, "--sign", other});
  const std::string root = sandbox.path("root");
  check_refused(sandbox, {"import", good, "--cache", root, "--require-signature"}, 2, "--verify-key");
  check_refused(sandbox, {"import", good, "--cache", root, "--verify-key", ""}, 2, "--verify-key");
  check_refused(sandbox, {"import", good, "--cache", root, "--verify-key", own}, 2, "holds no Ed25519 public key");
  for (const bool in_environment : {false, true}) {
    if (in_environment) sandbox.environment["CUBINET_BUNDLE_KEY"] = key;
    const auto with_key = [&](Arguments arguments) {
      if (!in_environment) arguments.insert(arguments.end(), {"--verify-key", key});
      return arguments;
    };
    check_refused(sandbox, with_key({"import", bare, "--cache", root}), 1, "not signed");
    check_refused(sandbox, with_key({"import", wrong, "--cache", root, "--require-signature"}), 1, "not signed with");
    const std::string made = root + (in_environment ? "1" : "2");
    const auto imported = cache(sandbox, with_key({"import", good, "--cache", made, "--require-signature"}));
    CHECK(imported.at("signature") == "verified");
    CHECK(imported.at("imported") == 2);
  }
  sandbox.environment.clear();
  const Outcome unverified = sandbox.run({"cache", "import", wrong, "--cache", root, "--json"});
  CHECK(object_of(unverified).at("signature") == "unverified");
  CHECK(unverified.err.find("--verify-key") != std::string::npos);
}

TEST_CASE("A killed import leaves only complete entries, and the next one adds the rest") {
  const Sandbox sandbox;
  constexpr int entries = 40;
  std::vector<int> numbers(entries);
  for (int i = 0; i < entries; ++i) numbers[static_cast<std::size_t>(i)] = i;
  const std::string bundle = sandbox.file("bundle", test::written_bundle(numbers));
  bool in_the_middle = false;
  for (const std::size_t wanted : {0U, 1U, 4U, 12U, 24U}) {  // number of entries when the import is killed
    const std::string root = sandbox.path("root" + std::to_string(wanted));
    const pid_t process = sandbox.start({"cache", "import", bundle, "--cache", root});
    await_objects(root, wanted);
    kill(process, SIGKILL);
    static_cast<void>(sandbox.finish(process));
    auto cabinet = cubinet::cache::Cabinet::open(root, true);
    REQUIRE(cabinet);
    const auto report = cubinet::cache::Maintenance(*cabinet).verify(true);
    REQUIRE(report);
    CHECK(report->damaged.empty());
    CHECK(report->leftovers <= 1);
    CHECK(report->checked >= static_cast<std::int64_t>(wanted));
    in_the_middle = in_the_middle || (report->checked > 0 && report->checked < entries);
    const auto imported = cache(sandbox, {"import", bundle, "--cache", root});
    CHECK(imported.at("there") == report->checked);
    CHECK(imported.at("imported") == entries - report->checked);
    CHECK(sandbox.run({"cache", "verify", "--cache", root}).exit_code == 0);
  }
  CHECK(in_the_middle);
}

TEST_CASE("The --help of export and import gives an example and every field that --json prints") {
  const Sandbox sandbox;
  fill(home_root(sandbox), 1);
  for (const char* command : {"export", "import"}) {
    const auto object = cache(sandbox, {command, sandbox.path("file")});
    const std::string help = sandbox.run({"cache", command, "--help"}).out;
    INFO(help);
    CHECK(help.find("Example:\n  cubinet cache " + std::string(command)) != std::string::npos);
    CHECK(help.find("Exit codes: 0 done") != std::string::npos);
    for (const auto& [name, value] : object.items()) {
      INFO(name);
      CHECK(help.find("\n  " + name + " ") != std::string::npos);
    }
  }
}

TEST_CASE("An empty bundle is imported without creating a cabinet") {
  const Sandbox sandbox;
  std::string bytes;
  for (const std::string& piece : cubinet::cache::BundleWriter().finish({})) bytes += piece;
  const std::string file = sandbox.file("empty.cubinet", bytes);
  const Outcome outcome = sandbox.run({"cache", "import", file, "--cache", sandbox.path("root")});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out.starts_with("0 entries: 0 imported"));
  CHECK_FALSE(fs::exists(sandbox.path("root")));
}
