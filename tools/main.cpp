// The command `cubinet`: parses the command line, runs one subcommand and returns its exit code.
#include <fcntl.h>
#include <signal.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tools/command_line.hpp"
#include "tools/commands.hpp"
#include "tools/output.hpp"
#include "tools/signals.hpp"
#include "util/expected.hpp"

namespace cubinet::tools {
namespace {

// Opens /dev/null for each of descriptors 0, 1 and 2 that is closed, so that no file of the cabinet gets that number
// and is then used as a standard stream. It is opened for reading, so that output still fails.
void fill_standard_descriptors() {
  for (const int descriptor : {0, 1, 2}) {
    if (fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    if (open("/dev/null", O_RDONLY) < 0) return;  // no /dev; else open() returns the lowest free number, `descriptor`
  }
}

// Found before parsing, so that a usage error can be printed as JSON, too.
bool wants_json(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) return true;
  }
  return false;
}

// The value of an option, as `--name VALUE` or `--name=VALUE`, found before parsing; empty if it is not given.
std::string given(int argc, char** argv, std::string_view name) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == name && i + 1 < argc) return argv[i + 1];
    if (word.starts_with(name) && word.substr(name.size()).starts_with('=')) {
      return std::string(word.substr(name.size() + 1));
    }
  }
  return {};
}

// The words of the command line. The empty value of `--name=` becomes a word of its own: CLI11 would take the next word
// as the value.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words;
  bool options = true;  // "--" ends them
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    options = options && word != "--";
    const bool empty_value = options && word.starts_with("--") && word.find('=') == word.size() - 1;
    words.emplace_back(empty_value ? word.substr(0, word.size() - 1) : word);
    if (empty_value) words.emplace_back();
  }
  return words;
}

// Writes to the progress file why the warmup ends here.
void tell_failure(int argc, char** argv, const std::string& message) {
  const auto path = [&](std::string_view option) { return given(argc, argv, option); };
  tell_failed_warmup({path("--progress-file"), path("--cache"), path("--model"), path("--from")}, message);
}

int parse_and_run(CommandLine& line, int argc, char** argv) {
  const auto exit_code = line.parse(words_of(argc, argv));
  if (exit_code) return *exit_code;
  if (line.names("warmup")) tell_failure(argc, argv, exit_code.error().message);
  return report_error(exit_code.error(), wants_json(argc, argv), exit_usage);
}

int run(int argc, char** argv) {
  CommandLine line("cubinet",
                   "Cubinet compiles grouped-GEMM kernels for mixture-of-experts models ahead of time and stores them "
                   "in a cabinet.",
                   "cubinet " CUBINET_VERSION);
  const Command root = line.root();
  root.requires_subcommand();
  root.footer(std::string("Example:\n  cubinet warmup --model config.json --ep 8\nEvery command has --help.\n") +
              exit_codes_help);
  add_plan(root);
  add_warmup(root);
  add_cache(root);
  add_doctor(root);
  const int exit_code = parse_and_run(line, argc, argv);
  return finish_output() ? exit_code : static_cast<int>(exit_failed);
}

// Reports an exception that ended the command: a defect, or a lack of memory or threads. Only `warmup` has a progress
// file.
int report_thrown(const Error& error, int argc, char** argv) noexcept {
  const bool warms = argc > 1 && std::strcmp(argv[1], "warmup") == 0;
  static_cast<void>(without_exceptions(error.code, [&]() -> Expected<void> {
    if (warms) tell_failure(argc, argv, error.message);
    return {};
  }));
  return report_error(error, wants_json(argc, argv), exit_failed);
}

}  // namespace
}  // namespace cubinet::tools

int main(int argc, char** argv) {
  cubinet::tools::fill_standard_descriptors();
  cubinet::tools::ignore_signal(SIGXFSZ);
  const auto exit_code = cubinet::without_exceptions(
      cubinet::ErrorCode::io, [&]() -> cubinet::Expected<int> { return cubinet::tools::run(argc, argv); });
  return exit_code ? *exit_code : cubinet::tools::report_thrown(exit_code.error(), argc, argv);
}
