// Runs the command under test in a folder of its own.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "unit/util/temp_folder.hpp"

namespace cubinet::cli {

using Arguments = std::vector<std::string>;

// The arguments followed by `more`.
Arguments with(Arguments arguments, const Arguments& more);

inline constexpr uid_t nobody = 65534;

// A problem with one kernel, which compiles fast; a warmup of it.
inline const Arguments one_kernel{"--shape", "128,128,2", "--layout", "masked", "--m-max", "8", "--no-generic"};
inline const Arguments warm_one_kernel = with({"warmup", "--json"}, one_kernel);

struct Outcome {
  int exit_code = -1;  // -1: ended by a signal
  int signal = 0;      // which one
  std::string out;
  std::string err;
};

inline bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Standard output as JSON; it must hold exactly one object.
nlohmann::json object_of(const Outcome& outcome);

// Runs the command in a temporary folder, with HOME in it and none of the project's variables set. The folder is
// writable by every user, and the destructor removes it.
class Sandbox {
 public:
  Sandbox();

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  // Writes a file and returns its path.
  std::string file(const std::string& name, const std::string& text) const;

  // Environment variables besides HOME and PATH.
  std::map<std::string, std::string> environment;
  // Run as nobody if the tests run as root, because root may write everywhere.
  bool unprivileged = false;
  // A device for standard error instead of a file; standard_error() is empty then.
  std::string error_device;
  // A program with its arguments that runs the command, such as strace; empty: none.
  Arguments tracer;
  // Start with SIGINT ignored, as a shell does for background commands.
  bool ignores_interrupt = false;

  [[nodiscard]] Outcome run(const Arguments& arguments) const;

  // run() in two steps. Standard error can be read in between.
  [[nodiscard]] pid_t start(const Arguments& arguments) const;
  [[nodiscard]] Outcome finish(pid_t process) const;
  [[nodiscard]] std::string standard_error() const;

 private:
  test::TempFolder folder_;
  test::TempFolder output_;  // outside the sandbox, so that tests can list the sandbox
};

// The check of this name in the output of `doctor --json`.
nlohmann::json check_of(const nlohmann::json& report, const std::string& name);

// The content of a progress file in the sandbox; an empty object if it does not exist. Fails on an incomplete file.
nlohmann::json progress_of(const Sandbox& sandbox, const std::string& name);

// Waits until `wanted` accepts that file's content; false after two minutes.
bool await_progress(const Sandbox& sandbox, const std::string& name,
                    const std::function<bool(const nlohmann::json&)>& wanted);

// Every file and folder under `folder`, by name.
std::vector<std::string> contents(const std::filesystem::path& folder);

// One of the models under examples/.
std::string example_model(const std::string& name);

// Warms up the cabinet under the sandbox's home with two kernels, of two shapes.
void fill(const Sandbox& sandbox);

}  // namespace cubinet::cli
