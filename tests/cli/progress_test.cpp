// How a warmup tells what it does, with the real NVRTC: lines, and the file for other programs.
#include <signal.h>
#include <sys/wait.h>

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

// One kernel.
const Arguments small{"warmup", "--shape", "128,128,2", "--layout", "masked", "--m-max", "8", "--no-generic", "--json"};

Arguments with(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
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
  const Arguments several = with(small, {"--shape", "256,128,2", "384,128,2", "512,128,2", "640,128,2"});
  const Outcome loud = sandbox.run(several);
  const auto report = object_of(loud);
  CHECK(report.at("compiled") == 5);
  INFO(loud.err);
  CHECK(loud.err.find("compiling: 5 kernels\n") == 0);
  CHECK(loud.err.find("compiling: 5/5 kernels, ") != std::string::npos);
  CHECK(loud.err.find("/s, ") != std::string::npos);
  CHECK(loud.err.find('\r') == std::string::npos);
  CHECK(static_cast<double>(lines_of(loud.err)) <= 2 + report.at("seconds").get<double>() / 5);
  CHECK(sandbox.run(several).err.find("compiling: 5/5 kernels, ") != std::string::npos);
  CHECK(sandbox.run(with(several, {"--quiet"})).err.empty());
}

TEST_CASE("The progress file ends as done with every count, alone in its folder, and --help names its fields") {
  const Sandbox sandbox;
  fs::create_directory(sandbox.path("watched"));
  const Arguments watched = with(small, {"--progress-file", sandbox.path("watched/p"), "--quiet"});
  const pid_t process = sandbox.start(watched);
  CHECK(sandbox.finish(process).exit_code == 0);
  const auto first = progress_of(sandbox, "watched/p");
  CHECK(first.at("pid") == process);
  CHECK(first.at("state") == "done");
  CHECK(first.at("done") == 1);
  CHECK(first.at("total") == 1);
  CHECK(first.at("compiled") == 1);
  CHECK(first.at("rate") > 0);
  CHECK(first.at("eta_seconds") == 0);
  CHECK(first.at("message") == "");
  CHECK(contents(sandbox.path("watched")) == std::vector<std::string>{"p"});
  CHECK(sandbox.run(watched).exit_code == 0);
  CHECK(progress_of(sandbox, "watched/p").at("hits") == 1);
  const std::string help = sandbox.run({"warmup", "--help"}).out;
  for (const auto& [name, value] : first.items()) {
    INFO(name);
    CHECK(help.find(name) != std::string::npos);
  }
}

TEST_CASE("A stopped warmup has a heartbeat that grows old, and one that goes on beats again") {
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
    const Outcome outcome = sandbox.run(with(small, {"--progress-file", name}));
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
    const std::size_t note = outcome.err.find("note: progress cannot be told: ");
    CHECK(note != std::string::npos);
    CHECK(outcome.err.find("note: ", note + 1) == std::string::npos);
    CHECK(outcome.err.find(name, note) != std::string::npos);
  }
  CHECK(cubinet::test::contents(kept) == "precious");
  CHECK(fs::is_character_file("/dev/null"));
  CHECK(sandbox.run(with(small, {"--progress-file", ""})).exit_code == 2);
}

TEST_CASE("A warmup that cannot begin leaves a progress file that says failed and why") {
  const Sandbox sandbox;
  const std::string file = sandbox.file("file", "not a folder");
  const Outcome outcome = sandbox.run(with(small, {"--progress-file", "p", "--cache", file}));
  CHECK(outcome.exit_code == 1);
  const auto progress = progress_of(sandbox, "p");
  CHECK(progress.at("state") == "failed");
  CHECK(progress.at("message").get<std::string>().find(file) != std::string::npos);
}
