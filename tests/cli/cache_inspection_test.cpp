// Tests of the commands that inspect entries (explain, show --ptx and --sass, stats --prometheus, report), and of the
// stability of keys.
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "command.hpp"
#include "synthetic_cabinet.hpp"
#include "unit/cache/set_clock.hpp"
#include "util/json_text.hpp"

namespace {

using namespace cubinet::cli;
namespace fs = std::filesystem;

// Creates a cabinet with one kernel and returns its key.
std::string warm(const Sandbox& sandbox) {
  const Outcome outcome = sandbox.run(with({"warmup", "--quiet"}, one_kernel));
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return object_of(sandbox.run({"cache", "ls", "--json"})).at("entries").at(0).at("key");
}

// Installs a program that prints its name and its arguments.
void install(const Sandbox& sandbox, const std::string& name) {
  fs::create_directories(sandbox.path("toolkit/bin"));
  const std::string path =
      sandbox.file("toolkit/bin/" + name, "#!/bin/sh\necho \"" + name + " $@\"\nexit ${FAKE_EXIT:-0}\n");
  fs::permissions(path, fs::perms::all);
}

// The metrics of type counter with their values. Checks that no other metric's name ends in _total.
std::map<std::string, double> counters_of(const Sandbox& sandbox) {
  const std::string page = sandbox.run({"cache", "stats", "--prometheus"}).out;
  std::map<std::string, double> counters;
  std::istringstream lines(page);
  std::string name;
  for (std::string line; std::getline(lines, line);) {
    const bool type = line.starts_with("# TYPE ");
    if (type) name = line.substr(7, line.find(' ', 7) - 7);
    if (type) CHECK(line.ends_with(" counter") == name.ends_with("_total"));
    if (!line.starts_with("#") && name.ends_with("_total")) counters[name] = std::stod(line.substr(line.rfind(' ')));
  }
  return counters;
}

std::set<std::string> planned_keys(const Sandbox& sandbox, const Arguments& arguments) {
  std::set<std::string> keys;
  const auto plan = object_of(sandbox.run(with({"plan", "--json"}, arguments)));
  for (const auto& kernel : plan.at("kernels")) keys.insert(kernel.at("key").get<std::string>());
  REQUIRE_FALSE(keys.empty());
  return keys;
}

}  // namespace

TEST_CASE("explain says for each kernel of a problem whether it hits, and changes nothing") {
  const Sandbox sandbox;
  warm(sandbox);
  const auto hit = object_of(sandbox.run(with({"cache", "explain", "--json"}, one_kernel)));
  CHECK(hit.at("hits") == 1);
  CHECK(hit.at("misses") == 0);
  CHECK(hit.at("kernels").at(0).at("state") == "hit");
  CHECK(hit.at("kernels").at(0).at("where") == home_root(sandbox));
  const auto miss =
      object_of(sandbox.run({"cache", "explain", "--json", "--shape", "256,128,2", "--layout", "masked", "--m", "8"}));
  CHECK(miss.at("hits") == 0);
  for (const auto& kernel : miss.at("kernels")) {
    CHECK(kernel.at("state") == "absent");
    CHECK(holds(kernel.at("why"), "kN 128, not "));
    CHECK(kernel.at("nearest") == hit.at("kernels").at(0).at("key"));
  }
  const Outcome text = sandbox.run({"cache", "explain", "--shape", "256,128,2", "--m", "8"});
  CHECK(text.exit_code == 0);
  CHECK(holds(text.out, "0 hits, 4 misses"));
}

TEST_CASE("explain and a dry run of gc do not change an index of a newer build") {
  const Sandbox sandbox;
  fill_synthetic(sandbox, 2);
  cubinet::test::sql(cubinet::cache::Layout{home_root(sandbox)}, "PRAGMA user_version = 99");
  const auto before = cubinet::test::snapshot(home_root(sandbox));
  CHECK(sandbox.run({"cache", "explain", "--shape", "256,128,2", "--m", "8"}).exit_code == 0);
  const Outcome dry = sandbox.run({"cache", "gc", "--max-entries", "1", "--dry-run"});
  CHECK(dry.exit_code == 1);
  CHECK(holds(dry.err, "index.db"));
  CHECK(cubinet::test::snapshot(home_root(sandbox)) == before);
}

TEST_CASE("explain finds a kernel in a layer, and says which") {
  Sandbox sandbox;
  REQUIRE(sandbox.run(with({"warmup", "--quiet", "--cache", sandbox.path("layer")}, one_kernel)).exit_code == 0);
  fill_synthetic(sandbox, 1);
  sandbox.environment["CUBINET_CACHE_PATH"] = sandbox.path("layer");
  const auto found = object_of(sandbox.run(with({"cache", "explain", "--json"}, one_kernel)));
  CHECK(found.at("kernels").at(0).at("where") == sandbox.path("layer"));
  CHECK(found.at("searched").at(1) == sandbox.path("layer"));
}

TEST_CASE("explain says for a key what this build looks up instead, and for two keys how they differ") {
  const Sandbox sandbox;
  const std::string key = warm(sandbox);
  const auto current = object_of(sandbox.run({"cache", "explain", key, "--json"}));
  CHECK(current.at("current") == true);
  CHECK(current.at("wanted") == key);
  CHECK(current.at("differences").empty());
  cubinet::cache::Object old = cubinet::test::object_of(0);
  auto record = object_of(sandbox.run({"cache", "show", key, "--json"})).at("record");
  record["nvrtc"] = "12.1";  // as in records of earlier builds
  old.record = record.dump();
  publish(sandbox, old);
  const std::string old_key = cubinet::test::key_of(old.record).hex();
  const auto stale = object_of(sandbox.run({"cache", "explain", old_key, "--json"}));
  CHECK(stale.at("current") == false);
  CHECK(stale.at("wanted") == key);
  CHECK(stale.at("wanted_state") == "hit");
  const Outcome text = sandbox.run({"cache", "explain", old_key});
  CHECK(holds(text.out, "compiled by an earlier build, for NVRTC 12.1 only"));
  const auto both = object_of(sandbox.run({"cache", "explain", old_key, key, "--json"}));
  REQUIRE(both.at("differences").size() == 1);
  CHECK(both.at("differences").at(0).at("field") == "nvrtc");
  CHECK(both.at("differences").at(0).at("first") == "\"12.1\"");
  CHECK(holds(sandbox.run({"cache", "explain", old_key, old_key}).out, "the same"));
}

TEST_CASE("explain says if an entry is not a kernel of this build") {
  const Sandbox sandbox;
  fill_synthetic(sandbox, 1);
  const auto object = object_of(sandbox.run({"cache", "explain", cubinet::test::key_of(0).hex(), "--json"}));
  CHECK(object.at("wanted").is_null());
  CHECK(object.at("current") == false);
}

TEST_CASE("explain refuses keys with a problem, neither of them, three keys, and a wrong M") {
  const Sandbox sandbox;
  fill_synthetic(sandbox, 1);
  for (const Arguments& arguments : std::vector<Arguments>{{},
                                                           {"abcd", "--shape", "128,128,2"},
                                                           {"abcd", "abcd", "abcd"},
                                                           {"xyz"},
                                                           {"--shape", "128,100,2"},
                                                           {"--shape", "128,128,2", "--m", "0"},
                                                           {"--shape", "128,128,2", "--m", "8", "--m-max", "9"}}) {
    const Outcome outcome = sandbox.run(with({"cache", "explain", "--json"}, arguments));
    INFO(outcome.err);
    CHECK(outcome.exit_code == 2);
    CHECK(object_of(outcome).contains("error"));
  }
}

TEST_CASE("show --ptx prints only the PTX, and refuses a record of another build") {
  const Sandbox sandbox;
  const std::string key = warm(sandbox);
  const Outcome ptx = sandbox.run({"cache", "show", key, "--ptx"});
  CHECK(ptx.exit_code == 0);
  CHECK(holds(ptx.out, ".target sm_90a"));
  CHECK(holds(ptx.out, ".entry bf16_grouped_masked"));
  CHECK(ptx.err.empty());
  auto record = object_of(sandbox.run({"cache", "show", key, "--json"})).at("record");
  record["templates"]["bf16_grouped_masked.cuh"] = "00";
  cubinet::cache::Object other = cubinet::test::object_of(0);
  other.record = record.dump();
  publish(sandbox, other);
  const Outcome refused = sandbox.run({"cache", "show", cubinet::test::key_of(other.record).hex(), "--ptx"});
  CHECK(refused.exit_code == 1);
  CHECK(refused.out.empty());
  CHECK(holds(refused.err, "templates.bf16_grouped_masked.cuh differs"));
}

TEST_CASE("show --sass runs the toolkit's nvdisasm, else its cuobjdump, on the object") {
  Sandbox sandbox;
  fill_synthetic(sandbox, 1);
  const std::string key = cubinet::test::key_of(0).hex();
  const std::string object = home_root(sandbox) + "/objects/" + key.substr(0, 2) + "/" + key.substr(2) + ".cubin";
  sandbox.environment["CUDA_HOME"] = sandbox.path("toolkit");
  install(sandbox, "cuobjdump");
  CHECK(holds(sandbox.run({"cache", "show", key, "--sass"}).out, object));
  install(sandbox, "nvdisasm");
  CHECK(sandbox.run({"cache", "show", key, "--sass"}).out == "nvdisasm --print-code " + object + "\n");
  sandbox.environment["FAKE_EXIT"] = "3";
  const Outcome failed = sandbox.run({"cache", "show", key, "--sass"});
  CHECK(failed.exit_code == 1);
  CHECK(holds(failed.err, "nvdisasm failed with exit code 3"));
  // The reader of the listing has closed the pipe, as `| head` does.
  sandbox.environment["FAKE_EXIT"] = std::to_string(128 + SIGPIPE);
  const Outcome cut = sandbox.run({"cache", "show", key, "--sass"});
  CHECK(cut.exit_code == 0);
  CHECK(cut.err.empty());
}

TEST_CASE("show --sass without a disassembler says how to get one") {
  const Sandbox sandbox;
  if (fs::exists("/usr/local/cuda/bin/nvdisasm") || fs::exists("/usr/local/cuda/bin/cuobjdump") ||
      fs::exists("/usr/bin/nvdisasm") || fs::exists("/usr/bin/cuobjdump")) {
    WARN("skipped: this machine has a disassembler");
    return;
  }
  fill_synthetic(sandbox, 1);
  const Outcome outcome = sandbox.run({"cache", "show", cubinet::test::key_of(0).hex(), "--sass"});
  CHECK(outcome.exit_code == 1);
  CHECK(outcome.out.empty());
  CHECK(holds(outcome.err, "pip install nvidia-cuda-nvdisasm"));
  CHECK(holds(outcome.err, "CUDA_HOME"));
}

TEST_CASE("stats --prometheus prints each metric once, with its help and type before it, and escapes its label") {
  const Sandbox sandbox;
  const std::string root = sandbox.path("a \"root\\");
  REQUIRE(sandbox.run(with({"warmup", "--quiet", "--cache", root}, one_kernel)).exit_code == 0);
  const Outcome outcome = sandbox.run({"cache", "stats", "--prometheus", "--cache", root});
  CHECK(outcome.exit_code == 0);
  const std::string label = "{cache=\"" + sandbox.path("a \\\"root\\\\") + "\"} ";
  CHECK(holds(outcome.out, "# TYPE cubinet_cache_entries gauge\ncubinet_cache_entries" + label + "1\n"));
  CHECK(holds(outcome.out, "# TYPE cubinet_cache_hits_total counter\ncubinet_cache_hits_total" + label + "0\n"));
  CHECK(holds(outcome.out, "cubinet_cache_coverages" + label + "1\n"));
  std::set<std::string> names;
  std::size_t lines = 0;
  for (std::size_t at = 0; at < outcome.out.size(); ++lines) {
    const std::size_t end = outcome.out.find('\n', at);
    const std::string line = outcome.out.substr(at, end - at);
    if (line.starts_with("# HELP ")) CHECK(names.insert(line.substr(7, line.find(' ', 7) - 7)).second);
    at = end + 1;
  }
  CHECK(lines == 3 * names.size());
  CHECK(sandbox.run({"cache", "stats", "--prometheus", "--json"}).exit_code == 2);
}

TEST_CASE("A metric is a counter exactly if its name ends in _total, and no removal decreases one") {
  const Sandbox sandbox;
  const std::string key = warm(sandbox);
  REQUIRE(sandbox.run(with({"warmup", "--quiet", "--shape", "256,128,2"}, one_kernel)).exit_code == 0);
  auto before = counters_of(sandbox);
  CHECK(before.at("cubinet_cache_hits_total") == 1);
  CHECK(before.at("cubinet_cache_compiles_total") == 2);
  for (const Arguments& removal : {Arguments{"cache", "rm", key}, Arguments{"cache", "gc", "--max-size", "1B"}}) {
    REQUIRE(sandbox.run(removal).exit_code == 0);
    const auto after = counters_of(sandbox);
    REQUIRE(after.size() == before.size());
    for (const auto& [name, value] : before) {
      INFO(name);
      CHECK(after.at(name) >= value);
    }
    before = after;
  }
  CHECK(before.at("cubinet_cache_evictions_total") == 1);
}

TEST_CASE("Keys do not depend on the environment, the folder, the user, or the order of options") {
  const Sandbox sandbox;
  const std::string model = cubinet::test::contents(example_model("deepseek-v3"));
  const std::string here = sandbox.file("config.json", model);
  const auto keys = planned_keys(sandbox, {"--model", here, "--dtype", "bf16,fp8", "--layout", "contiguous,masked"});
  Sandbox other;
  other.unprivileged = true;
  fs::create_directories(other.path("elsewhere"));
  const std::string moved = other.file("elsewhere/renamed.json", model);
  fs::last_write_time(moved, fs::file_time_type::clock::now() - std::chrono::hours(24 * 365));
  other.environment = {{"HOME", other.path("elsewhere")},  {"LC_ALL", "de_DE.UTF-8"},      {"TZ", "Asia/Kathmandu"},
                       {"TMPDIR", other.path("")},         {"CUDA_LAUNCH_BLOCKING", "1"},  {"NVCC_APPEND_FLAGS", "-G"},
                       {"CUBINET_CACHE_PATH", "/nowhere"}, {"CUBINET_CACHE_DIR", "/none"}, {"CUDA_CACHE_DISABLE", "1"}};
  CHECK(planned_keys(other, {"--layout", "masked,contiguous", "--dtype", "fp8,bf16", "--model", moved}) == keys);
}

TEST_CASE("Keys do not depend on the number of jobs") {
  std::set<std::string> found;
  for (const char* jobs : {"1", "2"}) {
    const Sandbox sandbox;
    REQUIRE(sandbox.run(with({"warmup", "--quiet", "--jobs", jobs}, one_kernel)).exit_code == 0);
    found.insert(object_of(sandbox.run({"cache", "ls", "--json"})).at("entries").at(0).at("key").get<std::string>());
  }
  CHECK(found.size() == 1);
}

TEST_CASE("report replaces the page, writes the same one each time, and follows no link") {
  const Sandbox sandbox;
  fill_synthetic(sandbox, 3);
  const Outcome first = sandbox.run({"cache", "report", "page.html", "--json"});
  CHECK(first.exit_code == 0);
  CHECK(object_of(first).at("entries") == 3);
  const std::string page = cubinet::test::contents(sandbox.path("page.html"));
  CHECK(page.size() == object_of(first).at("bytes"));
  CHECK(holds(page, cubinet::test::key_of(2).hex().substr(0, 12)));
  sandbox.file("page.html", "something else");
  CHECK(sandbox.run({"cache", "report", "page.html"}).exit_code == 0);
  CHECK(cubinet::test::contents(sandbox.path("page.html")) == page);
  fs::create_symlink(sandbox.file("target", "kept"), sandbox.path("link"));
  CHECK(sandbox.run({"cache", "report", "link"}).exit_code == 1);
  CHECK(cubinet::test::contents(sandbox.path("target")) == "kept");
  CHECK(sandbox.run({"cache", "report", "no/such/folder.html"}).exit_code == 1);
  CHECK(sandbox.run({"cache", "report", ""}).exit_code == 2);
}

TEST_CASE("explain says why a layer is refused, also without a root") {
  Sandbox sandbox;
  sandbox.environment["CUBINET_CACHE_PATH"] = sandbox.file("layer.cubinet", "no bundle");
  const Outcome nothing = sandbox.run(with({"cache", "explain", "--json"}, one_kernel));
  CHECK(nothing.exit_code == 1);
  CHECK(holds(nothing.err, home_root(sandbox)));
  CHECK(holds(nothing.err, "layer.cubinet"));
  CHECK(holds(object_of(nothing).at("error").at("detail"), "layer.cubinet"));
  const Outcome key = sandbox.run({"cache", "explain", warm(sandbox)});
  CHECK(key.exit_code == 0);
  CHECK(holds(key.err, "layer.cubinet"));
}

TEST_CASE("explain refuses an option of a problem with a key, and names it") {
  const Sandbox sandbox;
  fill_synthetic(sandbox, 1);
  const std::string key = cubinet::test::key_of(0).hex();
  for (const Arguments& option : std::vector<Arguments>{
           {"--m", "5"}, {"--dtype", "fp8"}, {"--ep", "1"}, {"--no-generic"}, {"--shape", "128,128,2"}}) {
    const Outcome outcome = sandbox.run(with({"cache", "explain", key}, option));
    INFO(outcome.err);
    CHECK(outcome.exit_code == 2);
    CHECK(holds(outcome.err, option.front()));
  }
  CHECK(sandbox.run({"cache", "explain", key, "--json"}).exit_code == 0);
}

TEST_CASE("explain distinguishes an evicted kernel from one that was never compiled") {
  const Sandbox sandbox;
  warm(sandbox);
  REQUIRE(sandbox.run({"cache", "gc", "--max-size", "1B"}).exit_code == 0);
  const auto kernel = object_of(sandbox.run(with({"cache", "explain", "--json"}, one_kernel))).at("kernels").at(0);
  CHECK(kernel.at("state") == "evicted");
}

TEST_CASE("Metrics and the page are UTF-8 in a folder whose name is not") {
  const Sandbox sandbox;
  const std::string root = sandbox.path("bad\xFF");
  REQUIRE(sandbox.run(with({"warmup", "--quiet", "--cache", root}, one_kernel)).exit_code == 0);
  const Outcome metrics = sandbox.run({"cache", "stats", "--prometheus", "--cache", root});
  CHECK(metrics.exit_code == 0);
  CHECK(cubinet::util::is_utf8(metrics.out));
  CHECK(holds(metrics.out, "bad\xEF\xBF\xBD\"} "));
  REQUIRE(sandbox.run({"cache", "report", "page.html", "--cache", root}).exit_code == 0);
  CHECK(cubinet::util::is_utf8(cubinet::test::contents(sandbox.path("page.html"))));
  CHECK(cubinet::util::is_utf8(sandbox.run({"cache", "ls", "--cache", root}).out));
  CHECK(cubinet::util::is_utf8(sandbox.run({"cache", "stats", "--cache", root}).out));
}
