#include "tools/disassembler.hpp"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cubinet/cubinet.hpp"
#include "util/files.hpp"

namespace cubinet::tools {
namespace {

constexpr const char* mend =
    "install a CUDA toolkit, or `pip install nvidia-cuda-nvdisasm`, and name the folder whose bin/ holds it with "
    "CUDA_HOME, or put it on PATH";

struct Disassembler {
  const char* name;
  const char* option;  // that asks for SASS and no more
};
constexpr Disassembler disassemblers[] = {{"nvdisasm", "--print-code"}, {"cuobjdump", "-sass"}};

// The program where a toolkit has it, else its bare name, which is looked up in PATH.
std::string place_of(const std::string& name) {
  std::vector<std::string> folders = ServiceOptions::from_environment().nvrtc_folders;
  folders.emplace_back("/usr/local/cuda");
  for (const std::string& folder : folders) {
    std::string path = folder + "/bin/" + name;
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return name;
}

// Runs it to its end. Nothing where there is no such program.
Expected<std::optional<int>> run(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t process = 0;
  std::fflush(stdout);  // what is there comes first
  const int error = posix_spawnp(&process, arguments[0], nullptr, nullptr, arguments.data(), environ);
  if (error == ENOENT) return std::optional<int>();
  if (error != 0) return fail(ErrorCode::io, util::system_message("run", words.front(), error));
  int status = 0;
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return fail(ErrorCode::io, util::system_message("wait for", words.front(), errno));
  }
  return std::optional(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

}  // namespace

Expected<void> print_sass(const std::filesystem::path& cubin) {
  for (const auto& [name, option] : disassemblers) {
    const std::string program = place_of(name);
    const auto ended = run({program, option, cubin.native()});
    if (!ended) return propagate(ended);
    if (!*ended) continue;
    if (**ended == 0 || **ended == 128 + SIGPIPE) return {};  // who reads may have had enough
    return fail(ErrorCode::io,
                fmt::format("{} failed with exit code {}; it may be older than the cubin: {}", program, **ended, mend));
  }
  return fail(
      ErrorCode::not_found,
      fmt::format("neither nvdisasm nor cuobjdump is in bin/ of CUDA_HOME or /usr/local/cuda, nor in PATH; {}", mend));
}

}  // namespace cubinet::tools
