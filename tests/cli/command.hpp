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

struct Outcome {
  int exit_code = -1;  // -1: ended by a signal
  int signal = 0;      // which one
  std::string out;
  std::string err;
};

// Standard output, which must hold one JSON object and nothing else.
nlohmann::json object_of(const Outcome& outcome);

// A temporary folder, and the command run with HOME in it and no other variable of the project's set. The folder is
// open to every user and goes with the object.
class Sandbox {
 public:
  Sandbox();

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  // Writes a file and returns its path.
  std::string file(const std::string& name, const std::string& text) const;

  // Variables that the command sees besides HOME and PATH.
  std::map<std::string, std::string> environment;
  // Run as nobody where the tests are root, because root may write everywhere.
  bool unprivileged = false;
  // Where standard error goes in place of a file; standard_error() is empty then.
  std::string error_device;
  // A program with its arguments that runs the command, strace for one; empty: nothing does.
  Arguments tracer;
  // Start with SIGINT ignored, as a shell does for what runs in the background.
  bool ignores_interrupt = false;

  [[nodiscard]] Outcome run(const Arguments& arguments) const;

  // The same in two steps, to meddle in between. Standard error can be read meanwhile.
  [[nodiscard]] pid_t start(const Arguments& arguments) const;
  [[nodiscard]] Outcome finish(pid_t process) const;
  [[nodiscard]] std::string standard_error() const;

 private:
  test::TempFolder folder_;
  test::TempFolder output_;  // beside the sandbox, so that tests can list it
};

// What the file of --progress-file in the sandbox holds; an empty object while there is none. It is never half a one.
nlohmann::json progress_of(const Sandbox& sandbox, const std::string& name);

// Waits until that file holds what is wanted; false when patience ends before.
bool await_progress(const Sandbox& sandbox, const std::string& name,
                    const std::function<bool(const nlohmann::json&)>& wanted);

// Every file and folder under `folder`, by name.
std::vector<std::string> contents(const std::filesystem::path& folder);

// One of the models under examples/.
std::string example_model(const std::string& name);

}  // namespace cubinet::cli
