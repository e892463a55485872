// Tests of several warmups on one cabinet, at once or one after the other, with the real NVRTC.
#include <unistd.h>

#include <array>
#include <chrono>
#include <optional>
#include <thread>

#include <nlohmann/json.hpp>

#include "cache/cabinet.hpp"
#include "catch.hpp"
#include "command.hpp"

namespace {

using namespace cubinet;
using namespace cubinet::cli;
using namespace std::chrono_literals;

// Three kernels.
const Arguments shapes{"--shape", "128,128,2", "256,128,2", "384,128,2", "--layout",
                       "masked",  "--m-max",   "8",         "--json",    "--no-generic"};
// The first kernel of that plan.
const Arguments less{"--shape", "128,128,2", "--layout", "masked", "--m-max", "4", "--no-generic", "--json"};

Arguments command(const std::string& name, const Arguments& more, const std::string& cache = {}) {
  Arguments arguments{name};
  arguments.insert(arguments.end(), more.begin(), more.end());
  if (!cache.empty()) arguments.insert(arguments.end(), {"--cache", cache});
  return arguments;
}

std::string key_of_less(const Sandbox& sandbox) {
  return object_of(sandbox.run(command("plan", less))).at("kernels").at(0).at("key");
}

}  // namespace

TEST_CASE("Three warmups at once on a cold cabinet compile each kernel once between them") {
  const std::array<Sandbox, 3> sandboxes;
  const std::string cache = sandboxes[0].path("cabinet");
  std::array<pid_t, 3> processes{};
  for (std::size_t i = 0; i < 3; ++i) {
    processes[i] = sandboxes[i].start(command("warmup", shapes, cache));
  }
  int compiled = 0;
  int hits = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const Outcome outcome = sandboxes[i].finish(processes[i]);
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
    const auto report = object_of(outcome);
    CHECK(report.at("shared") <= report.at("hits"));
    CHECK(report.at("persist") == "on");
    compiled += report.at("compiled").get<int>();
    hits += report.at("hits").get<int>();
  }
  CHECK(compiled == 3);
  CHECK(hits == 6);
}

TEST_CASE("A complete warmup is recorded, and a later one that asks for no more is a look-up") {
  const Sandbox sandbox;
  CHECK(object_of(sandbox.run(command("warmup", shapes))).at("coverage") == "recorded");
  for (const Arguments& request : {shapes, less}) {
    const Outcome outcome = sandbox.run(command("warmup", request));
    CHECK(outcome.exit_code == 0);
    const auto report = object_of(outcome);
    CHECK(report.at("coverage") == "found");
    CHECK(report.at("compiled") == 0);
    CHECK(report.at("hits") == report.at("unique_kernels"));
    CHECK(report.at("launches") == 0);
    CHECK(report.at("persist") == "on");
  }
  const Arguments more{"--shape", "128,128,2", "--layout", "masked", "--m-max", "9", "--no-generic", "--json"};
  CHECK(object_of(sandbox.run(command("warmup", more))).at("coverage") == "recorded");
}

TEST_CASE("A kernel that is removed or damaged is compiled again by the next warmup, whatever was recorded") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run(command("warmup", shapes)).exit_code == 0);
  const std::string key = key_of_less(sandbox);
  REQUIRE(sandbox.run({"cache", "rm", key}).exit_code == 0);
  auto report = object_of(sandbox.run(command("warmup", shapes)));
  CHECK(report.at("coverage") == "recorded");
  CHECK(report.at("compiled") == 1);
  CHECK(report.at("hits") == 2);

  sandbox.file("home/.cache/cubinet/objects/" + key.substr(0, 2) + "/" + key.substr(2) + ".cubin", "damaged");
  report = object_of(sandbox.run(command("warmup", less)));
  CHECK(report.at("coverage") == "recorded");
  CHECK(report.at("compiled") == 1);
}

TEST_CASE("stats say what the cabinet is complete for, until something of it is missing") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run(command("warmup", shapes)).exit_code == 0);
  const auto coverage = object_of(sandbox.run({"cache", "stats", "--json"})).at("coverage");
  REQUIRE(coverage.size() == 1);
  const auto problem = [](int n) {
    return nlohmann::json{{"dtype", "bf16"}, {"layout", "masked"}, {"n", n},
                          {"k", 128},        {"groups", 2},        {"m_range", {1, 8}}};
  };
  CHECK(coverage[0].at("problems") == nlohmann::json{problem(128), problem(256), problem(384)});
  CHECK(coverage[0].at("m_range") == nlohmann::json{1, 8});
  CHECK(coverage[0].at("arch") == "sm_90a");
  CHECK(coverage[0].at("kernels") == 3);
  CHECK(coverage[0].at("current") == true);
  CHECK(coverage[0].at("executed").is_null());
  CHECK(coverage[0].at("recorded") > 1'600'000'000);
  const std::string text = sandbox.run({"cache", "stats"}).out;
  INFO(text);
  CHECK(text.find("complete     for bf16 masked 128 x 128 in 2 groups, 256 x 128 in 2 groups, 384 x 128 in 2 groups; "
                  "M 1 to 8, sm_90a, NVRTC ") != std::string::npos);
  CHECK(text.find(": 3 kernels; ") != std::string::npos);

  REQUIRE(sandbox.run({"cache", "rm", key_of_less(sandbox)}).exit_code == 0);
  CHECK(object_of(sandbox.run({"cache", "stats", "--json"})).at("coverage").empty());
  CHECK(sandbox.run({"cache", "stats"}).out.find("complete") == std::string::npos);
}

TEST_CASE("stats and the report print what each of several coverage records is complete for") {
  const Sandbox sandbox;
  for (const Arguments& more :
       std::vector<Arguments>{{"--generic-only", "--dtype", "bf16"}, {"--shape", "128,256,1", "--no-generic"}}) {
    REQUIRE(sandbox.run(with({"warmup", "--quiet", "--layout", "masked", "--m-max", "8"}, more)).exit_code == 0);
  }
  const std::string text = sandbox.run({"cache", "stats"}).out;
  INFO(text);
  CHECK(text.find("complete     for the generic kernels (bf16 masked); M 1 to 8, sm_90a, NVRTC ") != std::string::npos);
  CHECK(text.find("complete     for bf16 masked 128 x 256 in 1 group; M 1 to 8, sm_90a, NVRTC ") != std::string::npos);
  CHECK(text.find(": 1 kernel; ") != std::string::npos);
  const auto coverage = object_of(sandbox.run({"cache", "stats", "--json"})).at("coverage");
  REQUIRE(coverage.size() == 2);
  for (const auto& one : coverage) CHECK(one.at("num_sms") == 132);
  REQUIRE(sandbox.run({"cache", "report", "page.html"}).exit_code == 0);
  const std::string page = test::contents(sandbox.path("page.html"));
  CHECK(page.find("<td>the generic kernels (bf16 masked)</td>") != std::string::npos);
  CHECK(page.find("<td>bf16 masked 128 x 256 in 1 group</td>") != std::string::npos);
  CHECK(page.find("<td>sm_90a</td>") != std::string::npos);
}

TEST_CASE("A warmup that waits for another process names it, and finds or compiles the kernel afterwards") {
  const Sandbox sandbox;
  const std::string cache = sandbox.path("cabinet");
  const auto cabinet = cache::Cabinet::open(cache, true);
  REQUIRE(cabinet);
  std::optional<cache::Claim> held(cabinet->claim(*cache::Key::from_hex(key_of_less(sandbox))));
  REQUIRE(held->mine());
  Arguments watched = command("warmup", less, cache);
  watched.insert(watched.end(), {"--progress-file", "p"});
  const pid_t process = sandbox.start(watched);
  const std::string named = "waiting for process " + std::to_string(getpid()) + ",";
  const auto deadline = std::chrono::steady_clock::now() + 15s;  // less than the longest wait for another process
  while (sandbox.standard_error().find(named) == std::string::npos && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(5ms);
  }
  const std::string current = named.substr(0, named.size() - 1);
  CHECK(await_progress(sandbox, "p", [&](const auto& object) {
    return object.at("current") == current || object.at("state") != "compiling";
  }));
  CHECK(progress_of(sandbox, "p").at("current") == current);
  held.reset();
  const Outcome outcome = sandbox.finish(process);
  CHECK(progress_of(sandbox, "p").at("current") == "");
  CHECK(outcome.err.find(named, outcome.err.find(named) + 1) == std::string::npos);
  CHECK(outcome.err.find(named) != std::string::npos);
  CHECK(outcome.exit_code == 0);
  CHECK(object_of(outcome).at("compiled") == 1);
}
