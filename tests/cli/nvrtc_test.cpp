// Tests of warmups with another NVRTC than the build's, without NVRTC, and of warmups that need no NVRTC.
#include <cstdlib>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "command.hpp"
#include "jit/accepted_compilers.hpp"
#include "synthetic_cabinet.hpp"

namespace {

using namespace cubinet;
using namespace cubinet::cli;
namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* no_other_nvrtc = "the build has no NVRTC to make another of";

bool has_other_nvrtc() { return fs::exists(CUBINET_OTHER_NVRTC_DIR); }

// Three kernels.
Arguments warmup(bool execute = false) {
  Arguments arguments{"warmup", "--shape", "128,128,2", "256,128,2",    "384,128,2", "--layout",
                      "masked", "--m-max", "8",         "--no-generic", "--json"};
  if (execute) arguments.emplace_back("--execute");
  return arguments;
}

nlohmann::json warm_with_nvrtc(const Sandbox& sandbox, bool execute = false) {
  const Outcome outcome = sandbox.run(warmup(execute));
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  return object_of(outcome);
}

using Versions = std::set<std::string>;

// The NVRTC builds that compiled a cabinet's entries.
Versions makers(const Sandbox& sandbox) {
  Versions versions;
  const auto list = object_of(sandbox.run({"cache", "ls", "--json"}));
  for (const auto& entry : list.at("entries")) versions.insert(entry.at("compiler").get<std::string>());
  return versions;
}

constexpr const char* own_compiler = "NVRTC " CUBINET_OWN_NVRTC_VERSION;
constexpr const char* other_compiler = "NVRTC " CUBINET_OTHER_NVRTC_VERSION;

bool own_is_accepted() { return jit::is_accepted(own_compiler); }

bool mounts_work() { return std::system("unshare -m true >/dev/null 2>&1") == 0; }

// The files of every NVRTC that the command could find.
std::set<fs::path> nvrtc_files() {
  std::set<fs::path> files;
  for (const char* folder : {CUBINET_OWN_NVRTC_DIR, "/usr/local/cuda/lib64"}) {
    std::error_code none_there;
    for (const auto& file : fs::directory_iterator(folder, none_there)) {
      if (file.path().filename().string().starts_with("libnvrtc.so")) files.insert(fs::canonical(file.path()));
    }
  }
  return files;
}

// Makes the command see a text file in place of each of them.
void break_nvrtc(Sandbox& sandbox) {
  const std::string text = sandbox.file("broken", "no library");
  std::string script;
  for (const fs::path& file : nvrtc_files()) script += "mount --bind '" + text + "' '" + file.string() + "' && ";
  sandbox.tracer = {"unshare", "-m", "sh", "-c", script + "exec \"$@\"", "sh"};
}

void check_missing(const Sandbox& sandbox, const std::string& how_many) {
  const Outcome outcome = sandbox.run(warmup());
  INFO(outcome.err);
  CHECK(outcome.exit_code == 1);
  const auto error = object_of(outcome).at("error");
  CHECK(error.at("code") == "compiler_missing");
  const std::string message = error.at("message");
  CHECK(message.find("NVRTC is needed, since " + how_many + " kernels are not in ") == 0);
  CHECK(message.find("libnvrtc.so") != std::string::npos);
  CHECK(message.find("not a shared library for this machine") != std::string::npos);
}

bool strace_works() { return std::system("strace -f -o /dev/null true >/dev/null 2>&1") == 0; }

// The lines of strace's output that contain one of the words.
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

// The system calls that created processes, without those that created threads.
std::vector<std::string> forks(const Sandbox& sandbox) {
  auto lines = lines_with(sandbox, {"fork(", "clone(", "clone3("});
  std::erase_if(lines, [](const std::string& line) { return line.find("CLONE_THREAD") != std::string::npos; });
  return lines;
}

}  // namespace

TEST_CASE("Kernels of one NVRTC are found by a warmup with another, which is not opened") {
  if (!has_other_nvrtc() || !own_is_accepted()) CUBINET_SKIP(no_other_nvrtc);
  Sandbox sandbox;
  const auto first = warm_with_nvrtc(sandbox);
  CHECK(first.at("compiled") == 3);
  CHECK(first.at("compiler") == own_compiler);
  CHECK(first.at("compilers") == Json::array({{{"compiler", own_compiler}, {"kernels", 3}, {"accepted", true}}}));
  sandbox.environment["CUBINET_NVRTC_DIR"] = CUBINET_OTHER_NVRTC_DIR;
  const auto found = warm_with_nvrtc(sandbox);
  CHECK(found.at("coverage") == "found");
  CHECK(found.at("hits") == 3);
  CHECK(found.at("compiler") == "");
  CHECK(found.at("compilers") == first.at("compilers"));
  CHECK((makers(sandbox) == Versions{own_compiler}));
}

TEST_CASE("Kernels of an unaccepted NVRTC are used with a note, and replaced by a warmup with an accepted one") {
  if (!has_other_nvrtc() || !own_is_accepted()) CUBINET_SKIP(no_other_nvrtc);
  Sandbox sandbox;
  sandbox.environment["CUBINET_NVRTC_DIR"] = CUBINET_OTHER_NVRTC_DIR;
  const Outcome unaccepted = sandbox.run(warmup());
  CHECK(unaccepted.exit_code == 0);
  CHECK(object_of(unaccepted).at("compiled") == 3);
  CHECK(object_of(unaccepted).at("compilers").at(0).at("accepted") == false);
  CHECK(unaccepted.err.find("3 kernels were made by " + std::string(other_compiler) +
                            ", which this build of Cubinet was not tested with") != std::string::npos);
  CHECK(unaccepted.err.find("13.0.88") != std::string::npos);
  const auto again = warm_with_nvrtc(sandbox);
  CHECK(again.at("hits") == 3);
  CHECK(again.at("replaced") == 0);
  CHECK((makers(sandbox) == Versions{other_compiler}));
  const Outcome doctor = sandbox.run({"doctor"});
  CHECK(doctor.out.find("this build was not tested with it") != std::string::npos);

  sandbox.environment.clear();
  const auto replaced = warm_with_nvrtc(sandbox);
  CHECK(replaced.at("compiled") == 3);
  CHECK(replaced.at("replaced") == 3);
  CHECK(replaced.at("coverage") == "recorded");
  CHECK((makers(sandbox) == Versions{own_compiler}));
  CHECK(warm_with_nvrtc(sandbox).at("coverage") == "found");
  const auto stats = object_of(sandbox.run({"cache", "stats", "--json"}));
  CHECK(stats.at("compilers") == Json::array({{{"compiler", own_compiler}, {"entries", 3}}}));
  CHECK(stats.at("coverage").at(0).at("nvrtc") == CUBINET_OWN_NVRTC_VERSION);
}

TEST_CASE("Without NVRTC the error says how many of the kernels are missing, and what is wrong with NVRTC") {
  if (!mounts_work()) CUBINET_SKIP("no mount can be made here");
  Sandbox sandbox;
  warm_with_nvrtc(sandbox);
  break_nvrtc(sandbox);
  CHECK(warm_with_nvrtc(sandbox).at("coverage") == "found");
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

TEST_CASE("A second warmup only looks up: it opens neither NVRTC nor the driver, and starts no process") {
  if (!strace_works()) CUBINET_SKIP("strace cannot trace here");
  Sandbox sandbox;
  sandbox.tracer = {
      "strace", "-f", "-qq", "-o", sandbox.path("trace"), "-e", "trace=open,openat,execve,fork,vfork,clone,clone3"};
  CHECK(warm_with_nvrtc(sandbox).at("compiled") == 3);
  CHECK_FALSE(lines_with(sandbox, {"libnvrtc"}).empty());  // the trace shows an NVRTC that is opened
  CHECK(warm_with_nvrtc(sandbox).at("coverage") == "found");
  CHECK_FALSE(lines_with(sandbox, {"index.db"}).empty());
  CHECK(lines_with(sandbox, {"libnvrtc", "libcuda"}).empty());
  CHECK(lines_with(sandbox, {"execve("}).size() == 1);
  CHECK(forks(sandbox).empty());
}

TEST_CASE("A root with keys of an earlier build misses once, says why, and keeps its entries") {
  const Sandbox sandbox;
  CHECK(warm_with_nvrtc(sandbox).at("compiled") == 3);
  const auto list = object_of(sandbox.run({"cache", "ls", "--json"}));
  for (const auto& entry : list.at("entries")) {
    const std::string key = entry.at("key");
    const auto shown = object_of(sandbox.run({"cache", "show", key, "--json"}));
    cache::Object earlier = test::object_of(0);
    auto record = shown.at("record");
    record["nvrtc"] = "13.0";
    earlier.record = record.dump();
    earlier.facts.details = test::details_of(entry.at("family"), entry.at("n"), entry.at("k"), entry.at("config"));
    publish(sandbox, earlier);
    REQUIRE(sandbox.run({"cache", "rm", key}).exit_code == 0);
  }
  const Arguments explain{"cache",    "explain", "--shape", "128,128,2", "256,128,2",   "384,128,2",
                          "--layout", "masked",  "--m-max", "8",         "--no-generic"};
  const std::string told = sandbox.run(explain).out;
  CHECK(told.find("stale: compiled by an earlier build, for NVRTC 13.0 only; a warmup compiles it again") !=
        std::string::npos);
  CHECK(told.find("0 hits, 3 misses") != std::string::npos);
  CHECK(warm_with_nvrtc(sandbox).at("compiled") == 3);
  CHECK(warm_with_nvrtc(sandbox).at("coverage") == "found");
  CHECK(object_of(sandbox.run({"cache", "ls", "--json"})).at("total") == 6);
  CHECK(sandbox.run({"cache", "verify"}).exit_code == 0);
}

TEST_CASE("A truncated NVRTC is named, and the next one compiles") {
  if (!has_other_nvrtc()) CUBINET_SKIP(no_other_nvrtc);
  Sandbox sandbox;
  fs::create_directory(sandbox.path("short"));
  const std::string library = sandbox.path("short/libnvrtc.so.13");
  fs::copy_file(*nvrtc_files().begin(), library);
  fs::resize_file(library, 1'000'000);
  sandbox.environment["CUBINET_NVRTC_DIR"] = sandbox.path("short");
  const Outcome outcome = sandbox.run(warmup());
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.find("not usable (" + library + ": truncated") != std::string::npos);
  CHECK(object_of(outcome).at("compiled") == 3);
}

TEST_CASE("A stack of 64 KiB is enough for a warmup") {
#ifdef CUBINET_ADDRESS_SANITIZER
  CUBINET_SKIP("the address sanitizer takes more");
#endif
  Sandbox sandbox;
  sandbox.tracer = {"sh", "-c", "ulimit -s 64; exec \"$@\"", "sh"};
  const std::string progress = sandbox.path("progress.json");
  Arguments arguments = warmup();
  arguments.insert(arguments.end(), {"--progress-file", progress});
  CHECK(object_of(sandbox.run(arguments)).at("compiled") == 3);
  CHECK(nlohmann::json::parse(std::ifstream(progress)).at("state") == "done");
}

TEST_CASE("The command alone, without its worker, compiles in its own process and says so") {
  const Sandbox sandbox;
  const std::string alone = sandbox.path("cubinet");
  fs::copy_file(CUBINET_COMMAND, alone);
  Sandbox other;
  other.tracer = {"sh", "-c", "shift; exec " + alone + " \"$@\"", "sh"};
  const Outcome outcome = other.run(warmup());
  CHECK(outcome.exit_code == 0);
  CHECK(object_of(outcome).at("compiled") == 3);
  CHECK(outcome.err.find("compiles in this process") != std::string::npos);
  const Outcome doctor = other.run({"doctor"});
  CHECK(doctor.exit_code == 0);
  CHECK(doctor.out.find("cubinet-compile-worker is not installed beside") != std::string::npos);
}
