// Warmups under another NVRTC than the build's, without one, and such as need none.
#include <cstdlib>

#include <filesystem>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "command.hpp"

namespace {

using namespace cubinet;
using namespace cubinet::cli;
namespace fs = std::filesystem;

constexpr const char* no_other_nvrtc = "the build has no NVRTC to make another of";

bool has_other_nvrtc() { return fs::exists(CUBINET_OTHER_NVRTC_DIR); }

// Three kernels.
Arguments warmup(bool execute = false) {
  Arguments arguments{"warmup", "--shape", "128,128,2", "256,128,2",    "384,128,2", "--layout",
                      "masked", "--m-max", "8",         "--no-generic", "--json"};
  if (execute) arguments.emplace_back("--execute");
  return arguments;
}

nlohmann::json warm(const Sandbox& sandbox, bool execute = false) {
  const Outcome outcome = sandbox.run(warmup(execute));
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  return object_of(outcome);
}

using Versions = std::set<std::string>;

// The versions for which a cabinet says that it is complete.
Versions covered_versions(const Sandbox& sandbox) {
  Versions versions;
  const auto stats = object_of(sandbox.run({"cache", "stats", "--json"}));
  for (const auto& one : stats.at("coverage")) versions.insert(one.at("nvrtc").get<std::string>());
  return versions;
}

// A library that is named like NVRTC and has none of its functions.
void break_nvrtc(Sandbox& sandbox) {
  fs::create_directory(sandbox.path("broken"));
  fs::copy_file(fs::path(CUBINET_OTHER_NVRTC_DIR) / ("libnvrtc-builtins.so." CUBINET_OTHER_NVRTC_VERSION),
                sandbox.path("broken/libnvrtc.so"));
  sandbox.environment["CUBINET_NVRTC_DIR"] = sandbox.path("broken");
}

void check_missing(const Sandbox& sandbox, const std::string& how_many) {
  const Outcome outcome = sandbox.run(warmup());
  INFO(outcome.err);
  CHECK(outcome.exit_code == 1);
  const auto error = object_of(outcome).at("error");
  CHECK(error.at("code") == "compiler_missing");
  const std::string message = error.at("message");
  CHECK(message.find("NVRTC is needed, since " + how_many + " kernels are not in ") == 0);
  CHECK(message.find(sandbox.path("broken")) != std::string::npos);
}

bool strace_works() { return std::system("strace -f -o /dev/null true >/dev/null 2>&1") == 0; }

// The lines that strace wrote in which one of the words occurs.
std::vector<std::string> lines_with(const Sandbox& sandbox, const std::vector<std::string>& words) {
  std::istringstream trace(test::contents(sandbox.path("trace")));
  std::vector<std::string> found;
  for (std::string line; std::getline(trace, line);) {
    for (const std::string& word : words) {
      if (line.find(word) != std::string::npos) found.push_back(line);
    }
  }
  return found;
}

// Processes that were made; a thread is none.
std::vector<std::string> forks(const Sandbox& sandbox) {
  auto lines = lines_with(sandbox, {"fork(", "clone(", "clone3("});
  std::erase_if(lines, [](const std::string& line) { return line.find("CLONE_THREAD") != std::string::npos; });
  return lines;
}

}  // namespace

TEST_CASE("What was warmed under one version of NVRTC is not taken for another's, executed or not") {
  if (!has_other_nvrtc()) CUBINET_SKIP(no_other_nvrtc);
  for (const bool execute : {false, true}) {
    INFO("execute " << execute);
    Sandbox sandbox;
    sandbox.environment["CUBINET_NVRTC_DIR"] = CUBINET_OTHER_NVRTC_DIR;
    CHECK(warm(sandbox, execute).at("compiled") == 3);
    CHECK(warm(sandbox, execute).at("hits") == 3);
    CHECK((covered_versions(sandbox) == Versions{CUBINET_OTHER_NVRTC_VERSION}));

    sandbox.environment.clear();
    const auto own = warm(sandbox, execute);
    CHECK(own.at("compiled") == 3);
    CHECK(own.at("hits") == 0);
    CHECK(own.at("coverage") == "recorded");
    CHECK((covered_versions(sandbox) == Versions{CUBINET_OTHER_NVRTC_VERSION, CUBINET_OWN_NVRTC_VERSION}));
  }
}

TEST_CASE("The build's own version, which engines ask for first, answers a look-up, and is none for another's") {
  if (!has_other_nvrtc()) CUBINET_SKIP(no_other_nvrtc);
  Sandbox sandbox;
  sandbox.environment["CUDA_VISIBLE_DEVICES"] = "-1";
  CHECK(warm(sandbox).at("compiled") == 3);
  sandbox.environment["CUBINET_NVRTC_DIR"] = CUBINET_OTHER_NVRTC_DIR;
  CHECK(warm(sandbox).at("coverage") == "found");
  CHECK((covered_versions(sandbox) == Versions{CUBINET_OWN_NVRTC_VERSION}));
  // To execute takes a compiler. What it compiles has its version, and what was recorded of the other is no hit.
  const auto executed = warm(sandbox, true);
  CHECK(executed.at("compiled") == 3);
  CHECK(executed.at("hits") == 0);
  CHECK((covered_versions(sandbox) == Versions{CUBINET_OTHER_NVRTC_VERSION, CUBINET_OWN_NVRTC_VERSION}));
}

TEST_CASE("Without NVRTC the error says how many of the kernels are missing, and what is wrong with NVRTC") {
  if (!has_other_nvrtc()) CUBINET_SKIP(no_other_nvrtc);
  Sandbox sandbox;
  warm(sandbox);
  break_nvrtc(sandbox);
  CHECK(warm(sandbox).at("coverage") == "found");
  for (const auto& entry : fs::recursive_directory_iterator(sandbox.path("home/.cache/cubinet/objects"))) {
    if (!entry.is_regular_file()) continue;
    fs::resize_file(entry, 100);
    break;
  }
  check_missing(sandbox, "1 of 3");
  fs::remove_all(sandbox.path("home/.cache/cubinet"));
  check_missing(sandbox, "3 of 3");
  CHECK_FALSE(fs::exists(sandbox.path("home/.cache/cubinet")));
}

TEST_CASE("A second warmup is a look-up: it opens neither NVRTC nor the driver, and starts no process") {
  if (!strace_works()) CUBINET_SKIP("strace cannot trace here");
  Sandbox sandbox;
  sandbox.tracer = {
      "strace", "-f", "-qq", "-o", sandbox.path("trace"), "-e", "trace=open,openat,execve,fork,vfork,clone,clone3"};
  CHECK(warm(sandbox).at("compiled") == 3);
  CHECK_FALSE(lines_with(sandbox, {"libnvrtc"}).empty());  // it is seen where it is opened
  CHECK(warm(sandbox).at("coverage") == "found");
  CHECK_FALSE(lines_with(sandbox, {"index.db"}).empty());
  CHECK(lines_with(sandbox, {"libnvrtc", "libcuda"}).empty());
  CHECK(lines_with(sandbox, {"execve("}).size() == 1);
  CHECK(forks(sandbox).empty());
}
