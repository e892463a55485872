#include "ptxas.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/clock.hpp"

extern char** environ;

namespace cubinet::bench {
namespace {

// A temporary folder. The destructor removes it with its contents.
class Workspace {
 public:
  Workspace() {
    std::error_code none;
    std::string pattern = (std::filesystem::temp_directory_path(none) / "cubinet-ptxas-XXXXXX").string();
    if (!none && mkdtemp(pattern.data()) != nullptr) folder_ = pattern;
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;  // empty if it could not be created
};

Expected<void> run(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawn(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0) {
    return fail(ErrorCode::io, "cannot start " + words[0]);
  }
  int status = 0;
  pid_t ended = -1;
  do ended = waitpid(child, &status, 0);
  while (ended < 0 && errno == EINTR);
  if (ended != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return fail(ErrorCode::compile_failed, words[0] + " failed");
  }
  return {};
}

}  // namespace

Expected<std::filesystem::path> find_ptxas() {
  std::vector<std::filesystem::path> places;
  if (const char* home = std::getenv("CUDA_HOME")) places.emplace_back(std::filesystem::path(home) / "bin");
  if (const char* path = std::getenv("PATH")) {
    std::istringstream folders(path);
    for (std::string folder; std::getline(folders, folder, ':');) places.emplace_back(folder);
  }
  places.emplace_back("/usr/local/cuda/bin");
  for (const auto& place : places) {
    if (access((place / "ptxas").c_str(), X_OK) == 0) return place / "ptxas";
  }
  return fail(ErrorCode::not_found, "no ptxas in CUDA_HOME/bin, on PATH or in /usr/local/cuda/bin");
}

Expected<double> time_ptxas(const std::filesystem::path& ptxas, const std::string& ptx, const std::string& architecture,
                            int times) {
  const Workspace workspace;
  if (workspace.folder().empty()) return fail(ErrorCode::io, "cannot make a folder for the PTX: set TMPDIR");
  const auto source = workspace.folder() / "kernel.ptx";
  std::ofstream out(source, std::ios::binary);
  out << ptx.c_str();  // without the final NUL that NVRTC counts and ptxas rejects
  out.close();
  if (!out) return fail(ErrorCode::io, "cannot write " + source.string());
  double best = 0;
  for (int i = 0; i < times; ++i) {
    const util::Moment begin = util::now();
    const auto done = run({ptxas.string(), "-arch=" + architecture, source.string(), "-o",
                           (workspace.folder() / "kernel.cubin").string()});
    const double took = util::milliseconds_since(begin);
    if (!done) return propagate(done);
    best = i == 0 ? took : std::min(best, took);
  }
  return best;
}

}  // namespace cubinet::bench
