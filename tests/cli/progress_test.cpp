// Tests of the progress of a warmup, with the real NVRTC: printed lines and the progress file.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "command.hpp"

namespace {

using namespace cubinet::cli;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

// The progress file of another run. `identity` has the fields that identify the run; empty for an earlier build.
std::string progress_text(std::int64_t process, const std::string& state, double heartbeat,
                          const std::string& identity = {}) {
  return R"({"pid":)" + std::to_string(process) + identity + R"(,"state":")" + state +
         R"(","done":1,"total":9,"compiled":1,"hits":0,"failed":0,"seconds":1.0,"rate":1.0,"eta_seconds":null,"heartbeat":)" +
         std::to_string(heartbeat) + R"(,"current":"","current_seconds":0.0,"message":""})" + "\n";
}

double time_of_day() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double heartbeat(const Sandbox& sandbox) {
  const auto object = progress_of(sandbox, "p");
  return object.empty() ? 0 : object.at("heartbeat").get<double>();
}

bool beats(const Sandbox& sandbox) {
  const double last = heartbeat(sandbox);
  return await_progress(sandbox, "p", [last](const auto& object) { return object.at("heartbeat") > last; });
}

std::ptrdiff_t lines_of(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

}  // namespace

TEST_CASE("Progress goes to standard error as few plain lines, whatever the number of kernels, and quiet silences it") {
  const Sandbox sandbox;
  const Arguments several = with(warm_one_kernel, {"--shape", "256,128,2", "384,128,2", "512,128,2", "640,128,2"});
  const Outcome loud = sandbox.run(several);
  const auto report = object_of(loud);
  CHECK(report.at("compiled") == 5);
  INFO(loud.err);
  CHECK(loud.err.find("compiling: 5 kernels\n") == 0);
  CHECK(loud.err.find("compiling: 5/5 kernels, ") != std::string::npos);
  CHECK(loud.err.find("/s, ") != std::string::npos);
  CHECK(loud.err.find('\r') == std::string::npos);
  CHECK(static_cast<double>(lines_of(loud.err)) <= 2 + report.at("seconds").get<double>() / 5);
  CHECK(sandbox.run(with(several, {"--shape", "768,128,2", "--quiet"})).err.empty());
}

TEST_CASE("A warmup that finds all kernels prints nothing about compiling") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run(with(warm_one_kernel, {"--quiet"})).exit_code == 0);
  const Outcome again = sandbox.run(with(warm_one_kernel, {"--progress-file", "p"}));
  CHECK(object_of(again).at("coverage") == "found");
  CHECK(again.err.empty());
  CHECK(progress_of(sandbox, "p").at("state") == "done");
}

TEST_CASE("Notes about failures are printed with --quiet, too, as --help says") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run(with(warm_one_kernel, {"--quiet", "--progress-file", "absent/p"}));
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.find("note: the progress file could not be written: ") != std::string::npos);
  CHECK(sandbox.run({"warmup", "--help"}).out.find("No progress, and no notes but those about failures") !=
        std::string::npos);
}

TEST_CASE("The progress file ends as done with every count, alone in its folder, and --help names its fields") {
  const Sandbox sandbox;
  fs::create_directory(sandbox.path("watched"));
  const Arguments watched = with(warm_one_kernel, {"--progress-file", sandbox.path("watched/p"), "--quiet"});
  const pid_t process = sandbox.start(watched);
  CHECK(sandbox.finish(process).exit_code == 0);
  const auto first = progress_of(sandbox, "watched/p");
  CHECK(first.at("pid") == process);
  CHECK(first.at("state") == "done");
  CHECK(first.at("done") == 1);
  CHECK(first.at("total") == 1);
  CHECK(first.at("compiled") == 1);
  CHECK(first.at("rate") > 0);
  CHECK(first.at("eta_seconds").is_null());
  CHECK(first.at("message") == "");
  CHECK(contents(sandbox.path("watched")) == std::vector<std::string>{"p"});
  CHECK(sandbox.run(watched).exit_code == 0);
  const auto second = progress_of(sandbox, "watched/p");
  CHECK(second.at("hits") == 1);
  CHECK(second.at("done") == 1);
  CHECK(second.at("total") == 1);
  CHECK(second.at("eta_seconds").is_null());
  const std::string help = sandbox.run({"warmup", "--help"}).out;
  for (const auto& [name, value] : first.items()) {
    INFO(name);
    CHECK(help.find(name) != std::string::npos);
  }
}

TEST_CASE("A stopped warmup has an old heartbeat, and a continued one a new heartbeat") {
  const Sandbox sandbox;
  const pid_t process =
      sandbox.start({"warmup", "--model", example_model("deepseek-v3"), "--jobs", "1", "--progress-file", "p"});
  REQUIRE(await_progress(sandbox, "p", [](const auto& object) { return object.at("current") != ""; }));
  CHECK(beats(sandbox));
  REQUIRE(kill(process, SIGSTOP) == 0);
  REQUIRE(waitpid(process, nullptr, WUNTRACED) == process);
  const double stopped = heartbeat(sandbox);
  std::this_thread::sleep_for(1500ms);
  CHECK(heartbeat(sandbox) == stopped);
  CHECK(progress_of(sandbox, "p").at("state") == "compiling");
  REQUIRE(kill(process, SIGCONT) == 0);
  CHECK(beats(sandbox));
  REQUIRE(kill(process, SIGKILL) == 0);
  CHECK(sandbox.finish(process).signal == SIGKILL);
  const auto last = progress_of(sandbox, "p");
  CHECK(last.at("state") == "compiling");
  CHECK(last.at("pid") == process);
}

TEST_CASE("A progress file that cannot be written costs one note, and the warmup goes on") {
  const Sandbox sandbox;
  fs::create_directory(sandbox.path("folder"));
  const std::string kept = sandbox.file("kept", "precious");
  fs::create_symlink(kept, sandbox.path("link"));
  for (const char* name : {"absent/p", "folder", "link", "/dev/null"}) {
    const Outcome outcome = sandbox.run(with(warm_one_kernel, {"--progress-file", name}));
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
    const std::size_t note = outcome.err.find("note: the progress file could not be written: ");
    CHECK(note != std::string::npos);
    CHECK(outcome.err.find("note: ", note + 1) == std::string::npos);
    CHECK(outcome.err.find(name, note) != std::string::npos);
  }
  CHECK(cubinet::test::contents(kept) == "precious");
  CHECK(fs::is_character_file("/dev/null"));
  CHECK(sandbox.run(with(warm_one_kernel, {"--progress-file", ""})).exit_code == 2);
}

TEST_CASE("A warmup that cannot begin leaves a progress file that says failed and why") {
  const Sandbox sandbox;
  const std::string file = sandbox.file("file", "not a folder");
  const Outcome outcome = sandbox.run(with(warm_one_kernel, {"--progress-file", "p", "--cache", file}));
  CHECK(outcome.exit_code == 1);
  const auto progress = progress_of(sandbox, "p");
  CHECK(progress.at("state") == "failed");
  CHECK(progress.at("message").get<std::string>().find(file) != std::string::npos);
}

TEST_CASE("A refused warmup writes failed and the reason over the previous run's progress file") {
  const Sandbox sandbox;
  const std::string model = sandbox.file("model.json", "{}");
  const std::vector<std::pair<Arguments, std::string>> refused = {
      {with(warm_one_kernel, {"--progress-file", "p", "--bogus"}), "--bogus"},
      {with(warm_one_kernel, {"--progress-file=p", "--ep"}), "--ep"},
      {with(warm_one_kernel, {"--m-min", "x", "--progress-file", "p"}), "--m-min"},
      {with(warm_one_kernel, {"--progress-file", "p", "--m-min", "9"}), "--m-min 9"},
      {with(warm_one_kernel, {"--progress-file", "p", "--jobs", "0"}), "--jobs"},
      {{"warmup", "--progress-file", "p", "--model", model}, model},
      {{"warmup", "--progress-file", "p", "--model", sandbox.path("absent.json")}, "absent.json"},
      {{"warmup", "--progress-file", "p"}, "--model"}};
  for (const auto& [arguments, why] : refused) {
    sandbox.file("p", progress_text(1, "done", 1e9));
    const pid_t process = sandbox.start(arguments);
    const Outcome outcome = sandbox.finish(process);
    INFO(outcome.err);
    CHECK(outcome.exit_code == 2);
    const auto progress = progress_of(sandbox, "p");
    CHECK(progress.at("state") == "failed");
    CHECK(progress.at("pid") == process);
    CHECK(progress.at("message").get<std::string>().find(why) != std::string::npos);
  }
}

TEST_CASE("A refused command line without a progress file, or not of a warmup, writes none") {
  const Sandbox sandbox;
  for (const Arguments& arguments : {Arguments{"plan", "--progress-file", "p"},
                                     with(warm_one_kernel, {"--progress-file"}), Arguments{"--progress-file", "p"}}) {
    CHECK(sandbox.run(arguments).exit_code == 2);
    CHECK(contents(sandbox.folder()).empty());
  }
}

TEST_CASE("A progress file inside the cabinet is refused, and the cabinet is unchanged") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run(with(warm_one_kernel, {"--cache", "cabinet"})).exit_code == 0);
  fs::create_directory_symlink(sandbox.path("cabinet"), sandbox.path("link"));
  const auto before = contents(sandbox.folder());
  const std::string index = cubinet::test::contents(sandbox.path("cabinet/index.db"));
  for (const char* file : {"cabinet/index.db", "cabinet/FORMAT", "cabinet/objects", "cabinet/p", "link/index.db",
                           "cabinet/../cabinet/CACHEDIR.TAG"}) {
    for (const Arguments& more : {Arguments{}, Arguments{"--bogus"}, Arguments{"--jobs", "0"}}) {
      const Outcome outcome = sandbox.run(
          with(warm_one_kernel, with({"--cache", "cabinet", "--progress-file", file, "--shape", "256,128,2"}, more)));
      INFO(file << ": " << outcome.err);
      CHECK(outcome.exit_code == 2);
      if (more.empty()) CHECK(object_of(outcome).at("error").at("code") == "invalid_argument");
      if (more.empty()) CHECK(outcome.err.find(file) != std::string::npos);
      CHECK(contents(sandbox.folder()) == before);
      CHECK(cubinet::test::contents(sandbox.path("cabinet/index.db")) == index);
    }
  }
  CHECK(sandbox.run(with(warm_one_kernel, {"--cache", "cabinet", "--progress-file", "cabinet.p"})).exit_code == 0);
}

TEST_CASE("A file with other content is refused as a progress file, and is unchanged") {
  const Sandbox sandbox;
  const std::vector<std::string> texts = {"precious", R"({"pid": 12, "state": "mine"})", R"({"pid":12})",
                                          std::string(1 << 20, ' ')};
  for (const std::string& text : texts) {
    for (const Arguments& more : {Arguments{}, Arguments{"--bogus"}, Arguments{"--jobs", "0"}}) {
      const std::string file = sandbox.file("p", text);
      const Outcome outcome = sandbox.run(with(warm_one_kernel, with({"--progress-file", file}, more)));
      INFO(outcome.err);
      CHECK(outcome.exit_code == 2);
      if (more.empty()) CHECK(outcome.err.find("--progress-file: " + file) != std::string::npos);
      CHECK(cubinet::test::contents(file) == text);
      CHECK(contents(sandbox.folder()) == std::vector<std::string>{"p"});
    }
  }
  for (const std::string& text : {std::string(), progress_text(1, "failed", 1e9)}) {
    const std::string file = sandbox.file("p", text);
    CHECK(sandbox.run(with(warm_one_kernel, {"--progress-file", file})).exit_code == 0);
    CHECK(progress_of(sandbox, "p").at("state") == "done");
  }
}

TEST_CASE("The model is refused as a progress file under any name, and is unchanged") {
  const Sandbox sandbox;
  const std::string text = cubinet::test::contents(example_model("deepseek-v3"));
  const std::string model = sandbox.file("config.json", text);
  fs::create_symlink(model, sandbox.path("link"));
  fs::create_hard_link(model, sandbox.path("hard"));
  sandbox.file("empty", "");
  fs::create_hard_link(sandbox.path("empty"), sandbox.path("other"));
  const std::vector<std::pair<std::string, std::string>> same = {
      {model, model},         {model, "./config.json"}, {model, "link"},  {"link", model},
      {"link", "link"},       {model, "hard"},          {"hard", model},  {"empty", "other"},
      {"absent", "./absent"}, {"absent", "absent"},     {"link", "hard"}, {"empty", "empty"}};
  for (const auto& [read, written] : same) {
    for (const Arguments& more : {Arguments{}, Arguments{"--bogus"}}) {
      const Outcome outcome = sandbox.run(with({"warmup", "--model", read, "--progress-file", written}, more));
      INFO(read << ", " << written << ": " << outcome.err);
      CHECK(outcome.exit_code == 2);
      if (more.empty()) CHECK(outcome.err.find("--progress-file: " + written) != std::string::npos);
      CHECK(cubinet::test::contents(model) == text);
      CHECK(contents(sandbox.folder()).size() == 5);
    }
  }
}

TEST_CASE("A progress file that another living run updates is left to it with one note, and the warmup continues") {
  const Sandbox sandbox;
  const std::string identity = R"(,"run":"4567","host":"node-2","pid_namespace":"x")";
  const auto keep = [&](std::int64_t process) {
    const std::string text = progress_text(process, "compiling", time_of_day(), identity);
    cubinet::test::write_file(sandbox.path("new"), text);
    fs::rename(sandbox.path("new"), sandbox.path("p"));
  };
  for (const std::int64_t process : {std::int64_t{1}, std::int64_t{getpid()}, std::int64_t{1} << 30}) {
    for (const Arguments& more : {Arguments{}, Arguments{"--bogus"}}) {
      keep(process);
      std::jthread beats([&](const std::stop_token& over) {
        while (!over.stop_requested()) {
          std::this_thread::sleep_for(200ms);
          keep(process);
        }
      });
      const Outcome outcome = sandbox.run(with(warm_one_kernel, with({"--progress-file", "p", "--quiet"}, more)));
      INFO(outcome.err);
      CHECK(outcome.exit_code == (more.empty() ? 0 : 2));
      const std::string kept =
          "note: the progress file could not be written: p is updated by process " + std::to_string(process);
      const std::size_t note = outcome.err.find(kept + " on node-2");
      CHECK(note != std::string::npos);
      CHECK(outcome.err.find("note: ", note + 1) == std::string::npos);
      CHECK(progress_of(sandbox, "p").at("run") == "4567");
    }
  }
}

TEST_CASE("Of two runs that are both process 1, in containers on one volume, one updates the file until it ends") {
  Sandbox first;
  Sandbox second;
  for (Sandbox* sandbox : {&first, &second})
    sandbox->tracer = {"unshare", "--pid", "--fork", "--kill-child", "--mount-proc"};
  if (first.run({"--version"}).exit_code != 0) CUBINET_SKIP("no namespaces can be made here");
  const std::string file = first.path("p");
  const pid_t process = first.start(
      {"warmup", "--model", example_model("deepseek-v3"), "--jobs", "1", "--progress-file", file, "--quiet"});
  REQUIRE(await_progress(first, "p", [](const auto& object) { return object.at("current") != ""; }));
  const auto kept = progress_of(first, "p");
  CHECK(kept.at("pid") == 1);
  const Outcome other = second.run(with(warm_one_kernel, {"--progress-file", file, "--quiet"}));
  CHECK(other.exit_code == 0);
  CHECK(other.err.find("is updated by process 1") != std::string::npos);
  CHECK(progress_of(first, "p").at("run") == kept.at("run"));
  CHECK(progress_of(first, "p").at("state") == "compiling");
  REQUIRE(kill(process, SIGTERM) == 0);
  static_cast<void>(first.finish(process));
}

TEST_CASE("A progress file whose run has ended, is gone or hangs is taken over") {
  const Sandbox sandbox;
  const pid_t gone = sandbox.start(with(warm_one_kernel, {"--progress-file", "of gone", "--quiet"}));
  REQUIRE(sandbox.finish(gone).exit_code == 0);
  const std::string same = progress_of(sandbox, "of gone").at("pid_namespace").get<std::string>();
  const std::string identity = R"(,"run":"4567","host":"node-2","pid_namespace":")" + same + '"';
  for (const std::string& text :
       {progress_text(getpid(), "done", time_of_day()), progress_text(getpid(), "interrupted", time_of_day(), identity),
        progress_text(gone, "compiling", time_of_day(), identity),
        progress_text(getpid(), "executing", time_of_day() - 11, identity)}) {
    sandbox.file("p", text);
    const Outcome outcome = sandbox.run(with(warm_one_kernel, {"--progress-file", "p", "--quiet"}));
    CHECK(outcome.err.empty());
    CHECK(progress_of(sandbox, "p").at("state") == "done");
  }
}

TEST_CASE("A warmup without threads, descriptors or memory replaces the state of an earlier run") {
  Sandbox sandbox;
  sandbox.unprivileged = true;  // the limit on threads does not apply to root
  const auto ends = [&](const std::string& limit, bool can_write) {
    fs::remove_all(sandbox.path("home"));
    fs::permissions(sandbox.file("p", progress_text(1, "done", 1e9)), fs::perms::all);
    sandbox.tracer = {"prlimit", limit};
    const Outcome outcome = sandbox.run(with(warm_one_kernel, {"--progress-file", "p", "--quiet"}));
    INFO(limit << ": " << outcome.err);
    CHECK(outcome.exit_code == 1);
    const auto progress = progress_of(sandbox, "p");
    if (can_write || !progress.empty()) {
      CHECK(progress.at("state") == "failed");
      CHECK(progress.at("message") != "");
    }
  };
  ends("--nproc=0", true);
#ifndef CUBINET_ADDRESS_SANITIZER  // it maps more memory and needs a descriptor to check an object's type
  ends("--as=60000000", true);
  // The number of descriptors that are already open depends on how the tests were started.
  for (const char* few : {"--nofile=9", "--nofile=8", "--nofile=7"}) ends(few, false);
#endif
}
