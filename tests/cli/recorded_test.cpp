// Tests of recorded problems, from an engine's start to a warmup that compiles their kernels again. The engine has a
// fake GPU and compiler.
#include <sys/stat.h>

#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "command.hpp"
#include "synthetic_cabinet.hpp"
#include "unit/cache/support.hpp"
#include "unit/jit/engine_world.hpp"

namespace {

using namespace cubinet;
using namespace cubinet::cli;
namespace fs = std::filesystem;

constexpr Problem kMasked{.layout = Layout::masked, .n = 128, .k = 128, .groups = 2};
constexpr Problem kOther{.layout = Layout::masked, .n = 256, .k = 128, .groups = 4};

// Starts an engine on the root, and ends it.
void start_engine(const std::string& root, const std::vector<ProblemRange>& problems) {
  test::World world;
  auto parts = test::parts_for(world);
  parts.cabinet = cache::Cabinet::open(root, true).value();
  REQUIRE(jit::Engine(std::move(parts)).prepare(problems, nullptr));
}

std::set<std::string> keys_in(const std::string& root) {
  std::set<std::string> keys;
  auto cabinet = cache::Cabinet::open(root, false).value();
  const auto entries = test::entries_of(cabinet).value();
  for (const auto& entry : entries) keys.insert(entry.key.hex());
  return keys;
}

const Arguments warmup_recorded{"warmup", "--recorded", "--no-generic", "--json"};

}  // namespace

TEST_CASE("The problems that engines asked for are listed, and one command compiles their kernels again") {
  const Sandbox sandbox;
  const std::string root = home_root(sandbox);
  start_engine(root, {{kMasked, {1, 8}}, {kOther, {1, 4}}});
  const auto keys = keys_in(root);
  REQUIRE(keys.size() == 2);

  const auto listed = object_of(sandbox.run({"cache", "problems", "--json"}));
  CHECK(listed.at("version") == 1);
  CHECK(listed.at("cache") == root);
  CHECK(listed.at("skipped").empty());
  REQUIRE(listed.at("problems").size() == 2);
  auto first = listed.at("problems")[0];
  CHECK(first.at("asked") > 1'700'000'000);
  first.erase("asked");
  CHECK(first == nlohmann::json({{"dtype", "bf16"},
                                 {"layout", "masked"},
                                 {"n", 128},
                                 {"k", 128},
                                 {"groups", 2},
                                 {"m_range", {1, 8}},
                                 {"arch", "sm_90a"}}));

  fs::remove_all(fs::path(root) / "objects");
  fs::create_directory(fs::path(root) / "objects");
  const Outcome made = sandbox.run(warmup_recorded);
  INFO(made.err);
  REQUIRE(made.exit_code == 0);
  CHECK(object_of(made).at("compiled") == 2);
  CHECK(made.err.find("planning 2 problems that engines asked for, as recorded in " + root) != std::string::npos);
  CHECK(keys_in(root) == keys);
  CHECK(object_of(sandbox.run(warmup_recorded)).at("coverage") == "found");

  const auto plan = object_of(sandbox.run({"plan", "--recorded", "--no-generic", "--json"}));
  CHECK(plan.at("unique_kernels") == 2);
  const auto explained = object_of(sandbox.run({"cache", "explain", "--recorded", "--no-generic", "--json"}));
  CHECK(explained.at("hits") == 2);
  const auto shipped = object_of(
      sandbox.run({"cache", "export", sandbox.path("all.cubinet"), "--plan", "--recorded", "--no-generic", "--json"}));
  CHECK(shipped.at("entries") == 2);
}

TEST_CASE("Recorded problems of another cabinet are planned from its folder and from its exported list") {
  const Sandbox sandbox;
  const std::string served = sandbox.path("served");
  start_engine(served, {{kMasked, {1, 8}}});
  const auto keys = keys_in(served);
  const std::string file =
      sandbox.file("problems.json", sandbox.run({"cache", "problems", "--cache", served, "--json"}).out);
  for (const std::string& place : {served, file}) {
    const auto plan = object_of(sandbox.run({"plan", "--recorded", "--from", place, "--no-generic", "--json"}));
    REQUIRE(plan.at("unique_kernels") == 1);
    CHECK(keys.contains(plan.at("kernels")[0].at("key").get<std::string>()));
  }
  const Outcome made = sandbox.run(with(warmup_recorded, {"--from", file, "--cache", sandbox.path("new")}));
  INFO(made.err);
  REQUIRE(made.exit_code == 0);
  CHECK(keys_in(sandbox.path("new")) == keys);
}

TEST_CASE("The listing is a table, and says if nothing is recorded") {
  const Sandbox sandbox;
  const std::string root = home_root(sandbox);
  fill_synthetic(sandbox, 1);
  const Outcome none = sandbox.run({"cache", "problems"});
  CHECK(none.exit_code == 0);
  CHECK(none.out == "0 problems recorded in " + root + "\n");
  start_engine(root, {{kMasked, {1, 8}}});
  const Outcome one = sandbox.run({"cache", "problems"});
  CHECK(one.exit_code == 0);
  CHECK(one.out.find("bf16   masked  128  128       2  1-8  sm_90a") != std::string::npos);
  CHECK(one.out.find("1 problem recorded in " + root + "\n") != std::string::npos);
}

TEST_CASE("A plan of recorded problems is refused, with the reason, if there are none or the place is wrong") {
  const Sandbox sandbox;
  const auto refused = [&](const Arguments& arguments, const std::string& words) {
    const Outcome outcome = sandbox.run(arguments);
    INFO(outcome.err);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.err.find(words) != std::string::npos);
  };
  refused({"warmup", "--recorded"}, "there is no cabinet at " + home_root(sandbox));
  CHECK_FALSE(fs::exists(home_root(sandbox)));
  fill_synthetic(sandbox, 1);
  refused({"warmup", "--recorded"}, "no problem is recorded in " + home_root(sandbox));
  refused({"plan", "--recorded", "--from", sandbox.path("nothing")}, sandbox.path("nothing"));
  refused({"plan", "--recorded", "--from", sandbox.file("x.json", "{}")}, "is not a list of problems");
  refused({"plan", "--from", home_root(sandbox)}, "--recorded");
  for (const Arguments& more : {Arguments{"--model", example_model("qwen3-30b-a3b")},
                                {"--shape", "128,128,2"},
                                {"--generic-only"},
                                {"--dtype", "fp8"},
                                {"--layout", "masked"},
                                {"--m-max", "8"},
                                {"--ep", "2"},
                                {"--tp", "2"}}) {
    refused(with({"plan", "--recorded"}, more), "--recorded");
  }
}

TEST_CASE("Records of problems that no engine asks for any more are removed on request") {
  const Sandbox sandbox;
  const std::string root = home_root(sandbox);
  start_engine(root, {{kMasked, {1, 8}}, {kOther, {1, 4}}});
  CHECK(object_of(sandbox.run({"cache", "problems", "--unasked-for", "1d", "--forget", "--json"}))
            .at("problems")
            .empty());
  CHECK(object_of(sandbox.run({"cache", "problems", "--json"})).at("problems").size() == 2);
  const Outcome forgotten = sandbox.run({"cache", "problems", "--forget"});
  CHECK(forgotten.exit_code == 0);
  CHECK(forgotten.out.find("2 problems forgotten in " + root) != std::string::npos);
  CHECK(object_of(sandbox.run({"cache", "problems", "--json"})).at("problems").empty());
  CHECK(keys_in(root).size() == 2);
  CHECK(sandbox.run({"cache", "problems", "--unasked-for", "soon"}).exit_code == 2);
}

TEST_CASE("A damaged record is named by the listing, the warmup and verify, and repaired by --repair") {
  const Sandbox sandbox;
  const std::string root = home_root(sandbox);
  start_engine(root, {{kMasked, {1, 8}}});
  const std::string name(64, 'b');
  test::write_file(fs::path(root) / "problems" / name, "noise");
  const Outcome listed = sandbox.run({"cache", "problems", "--json"});
  CHECK(listed.exit_code == 0);
  CHECK(object_of(listed).at("problems").size() == 1);
  CHECK(object_of(listed).at("skipped").at(0).at("name") == name);
  CHECK(listed.err.find(name) != std::string::npos);
  CHECK(sandbox.run({"plan", "--recorded"}).err.find("1 record in " + root + " cannot be used") != std::string::npos);
  const Outcome verified = sandbox.run({"cache", "verify"});
  CHECK(verified.exit_code == 1);
  CHECK(verified.out.find("damaged: problems/" + name) != std::string::npos);
  CHECK(sandbox.run({"cache", "verify", "--repair"}).exit_code == 0);
  CHECK(sandbox.run({"cache", "verify"}).exit_code == 0);
}

TEST_CASE("A progress file or a bundle must not replace the list that is read") {
  const Sandbox sandbox;
  const std::string file = sandbox.file("problems.json", R"({"version":1,"problems":[]})");
  CHECK(sandbox.run({"warmup", "--recorded", "--from", file, "--progress-file", file}).exit_code == 2);
  CHECK(sandbox.run({"cache", "export", file, "--plan", "--recorded", "--from", file}).exit_code == 2);
  CHECK(test::contents(file) == R"({"version":1,"problems":[]})");
}
