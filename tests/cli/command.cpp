#include "command.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstdlib>

#include <algorithm>
#include <chrono>
#include <thread>

#include <nlohmann/json.hpp>

#include "catch.hpp"

namespace cubinet::cli {
namespace {

namespace fs = std::filesystem;

constexpr int no_such_start = 125;

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// Runs in the child: redirects the standard streams to files, changes the user if requested, and executes the command.
// The command is opened before the user changes, since other users may have no access to its folder.
[[noreturn]] void become(std::vector<std::string> arguments, std::vector<std::string> environment,
                         const fs::path& output, const Sandbox& sandbox) {
  const int command = open(CUBINET_COMMAND, O_RDONLY | O_CLOEXEC);
  const int in = open("/dev/null", O_RDONLY);
  const int out = open((output / "out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const std::string& device = sandbox.error_device;
  const int err = device.empty() ? open((output / "err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600)
                                 : open(device.c_str(), O_WRONLY | O_NOCTTY);
  bool ready = command >= 0 && dup2(in, 0) == 0 && dup2(out, 1) == 1 && dup2(err, 2) == 2 &&
               chdir(sandbox.folder().c_str()) == 0;
  signal(SIGINT, sandbox.ignores_interrupt ? SIG_IGN : SIG_DFL);
  signal(SIGHUP, SIG_DFL);  // independent of how the tests were started
  if (sandbox.unprivileged && geteuid() == 0) ready = ready && setgid(nobody) == 0 && setuid(nobody) == 0;
  if (ready && !sandbox.tracer.empty())
    execvpe(arguments[0].c_str(), pointers(arguments).data(), pointers(environment).data());
  if (ready) fexecve(command, pointers(arguments).data(), pointers(environment).data());
  _exit(no_such_start);
}

}  // namespace

nlohmann::json check_of(const nlohmann::json& report, const std::string& name) {
  for (const auto& check : report.at("checks")) {
    if (check.at("name") == name) return check;
  }
  FAIL("no check " << name);
  return {};
}

nlohmann::json object_of(const Outcome& outcome) {
  INFO("standard output: " << outcome.out << "\nstandard error: " << outcome.err);
  nlohmann::json parsed = nlohmann::json::parse(outcome.out, nullptr, false);
  REQUIRE(parsed.is_object());
  return parsed;
}

Arguments with(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Sandbox::Sandbox() { fs::permissions(folder_.path(), fs::perms::all); }

std::string Sandbox::file(const std::string& name, const std::string& text) const {
  test::write_file(path(name), text);
  return path(name);
}

pid_t Sandbox::start(const Arguments& arguments) const {
  std::vector<std::string> words = tracer;
  words.emplace_back(tracer.empty() ? "cubinet" : CUBINET_COMMAND);
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables{"HOME=" + path("home"), "PATH=/usr/bin:/bin"};
  // Sanitizer options are passed on to the command.
  for (const char* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS"}) {
    if (const char* value = getenv(name)) variables.push_back(std::string(name) + "=" + value);
  }
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  fs::remove(output_ / "err");
  const pid_t process = fork();
  REQUIRE(process >= 0);
  if (process == 0) become(std::move(words), std::move(variables), output_.path(), *this);
  return process;
}

Outcome Sandbox::finish(pid_t process) const {
  int status = 0;
  REQUIRE(waitpid(process, &status, 0) == process);
  const int exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const Outcome outcome{exit_code, signal, test::contents(output_ / "out"), standard_error()};
  REQUIRE(outcome.exit_code != no_such_start);
  return outcome;
}

Outcome Sandbox::run(const Arguments& arguments) const { return finish(start(arguments)); }

std::string Sandbox::standard_error() const {
  return error_device.empty() ? test::contents(output_ / "err") : std::string();
}

nlohmann::json progress_of(const Sandbox& sandbox, const std::string& name) {
  const std::string text = test::contents(sandbox.path(name));
  if (text.empty()) return nlohmann::json::object();
  INFO("progress: " << text);
  nlohmann::json parsed = nlohmann::json::parse(text, nullptr, false);
  REQUIRE(parsed.is_object());
  return parsed;
}

bool await_progress(const Sandbox& sandbox, const std::string& name,
                    const std::function<bool(const nlohmann::json&)>& wanted) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (std::chrono::steady_clock::now() < deadline) {
    const auto object = progress_of(sandbox, name);
    if (!object.empty() && wanted(object)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

std::vector<std::string> contents(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    names.push_back(entry.path().lexically_relative(folder).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string example_model(const std::string& name) {
  return std::string(CUBINET_SOURCE_DIR) + "/examples/models/" + name + "/config.json";
}

void fill(const Sandbox& sandbox) {
  const Outcome outcome = sandbox.run(
      {"warmup", "--shape", "128,128,2", "256,128,2", "--layout", "masked", "--m-max", "8", "--no-generic", "--quiet"});
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
}

}  // namespace cubinet::cli
