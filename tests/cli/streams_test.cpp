// Tests of standard streams that are full, closed, broken or a narrow terminal.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "command.hpp"

namespace {

using namespace cubinet::cli;

// Two kernels, compiled one after the other, so that progress shows one of two.
const Arguments two_kernels{"warmup",  "--shape", "128,128,2", "256,128,2", "--layout", "masked",
                            "--m-max", "8",       "--jobs",    "1",         "--json",   "--no-generic"};

// The command's exit code with the shell's redirections, on two kernels and a cabinet in the sandbox; -1: a signal.
int redirected(const Sandbox& sandbox, const std::string& redirections) {
  const std::string command =
      std::string(CUBINET_COMMAND) +
      " warmup --shape 128,128,2 256,128,2 --layout masked --m-max 8 --no-generic --jobs 2 --cache " +
      sandbox.path("cabinet") + " " + redirections;
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::size_t stored(const Sandbox& sandbox) {
  return object_of(sandbox.run({"cache", "ls", "--json", "--cache", sandbox.path("cabinet")})).at("entries").size();
}

// A pseudo terminal with a number of columns. Its other end is read until the command has ended.
class Terminal {
 public:
  explicit Terminal(unsigned short columns) : master_(posix_openpt(O_RDWR | O_NOCTTY)) {
    REQUIRE(master_ >= 0);
    REQUIRE(grantpt(master_) == 0);
    REQUIRE(unlockpt(master_) == 0);
    keep_ = open(name().c_str(), O_RDWR | O_NOCTTY);
    REQUIRE(keep_ >= 0);
    struct winsize size {};
    size.ws_row = 24;
    size.ws_col = columns;
    REQUIRE(ioctl(keep_, TIOCSWINSZ, &size) == 0);
    reader_ = std::thread([this] { read_all(); });
  }
  ~Terminal() {
    if (reader_.joinable()) text();
    close(master_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  [[nodiscard]] std::string name() const { return ptsname(master_); }

  // The printed text. Call it once, after the command has ended.
  std::string text() {
    close(keep_);
    reader_.join();
    return text_;
  }

 private:
  void read_all() {
    char buffer[4096];
    for (ssize_t got = read(master_, buffer, sizeof buffer); got > 0; got = read(master_, buffer, sizeof buffer)) {
      text_.append(buffer, static_cast<std::size_t>(got));
    }
  }

  int master_;
  int keep_ = -1;
  std::string text_;
  std::thread reader_;
};

// The longest stretch between two returns to the first column, without the sequence that clears the line.
std::size_t widest_line(const std::string& text) {
  const std::string clear = "\033[K";
  std::size_t widest = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\r', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    if (line.rfind(clear, 0) == 0) line.erase(0, clear.size());
    widest = std::max(widest, line.size());
    begin = end + 1;
  }
  return widest;
}

}  // namespace

TEST_CASE("Progress that cannot be printed is dropped, and every kernel is compiled and stored") {
  for (const char* redirection : {"2>/dev/full", "2>&-", "0>&- 2>&-"}) {
    const Sandbox sandbox;
    INFO(redirection);
    CHECK(redirected(sandbox, std::string(">/dev/null ") + redirection) == 0);
    CHECK(stored(sandbox) == 2);
  }
}

TEST_CASE("A closed reader of progress does not end the warmup") {
  const Sandbox sandbox;
  CHECK(redirected(sandbox, "2>&1 >/dev/null | true") == 0);
  CHECK(stored(sandbox) == 2);
}

TEST_CASE("Output that cannot be written is exit code 1, with the kernels stored all the same") {
  for (const char* redirection :
       {">/dev/full", ">/dev/full 2>/dev/full", ">&- 2>&-", ">&- 2>/dev/null", "0>&- >&- 2>&-"}) {
    const Sandbox sandbox;
    INFO(redirection);
    CHECK(redirected(sandbox, std::string(redirection).find("2>") == std::string::npos
                                  ? std::string(redirection) + " 2>/dev/null"
                                  : redirection) == 1);
    CHECK(stored(sandbox) == 2);
    CHECK(sandbox.run({"cache", "verify", "--cache", sandbox.path("cabinet")}).exit_code == 0);
  }
}

TEST_CASE("If the report cannot be written, the progress file says failed, as the exit code does") {
  const Sandbox sandbox;
  for (int i = 0; i < 2; ++i) {  // compiled, and looked up
    CHECK(redirected(sandbox, "--progress-file " + sandbox.path("p") + " >/dev/full 2>/dev/null") == 1);
    CHECK(progress_of(sandbox, "p").at("state") == "failed");
    CHECK(progress_of(sandbox, "p").at("message") == "standard output could not be written");
  }
}

TEST_CASE("On a terminal the bar shows its times, fits the width and is erased at the end") {
  for (const int columns : {0, 10, 24, 40, 200}) {
    Sandbox sandbox;
    Terminal terminal(static_cast<unsigned short>(columns));
    sandbox.error_device = terminal.name();
    const Outcome outcome = sandbox.run(two_kernels);
    const std::string text = terminal.text();
    INFO(columns << " columns: " << text);
    CHECK(outcome.exit_code == 0);
    CHECK(widest_line(text) > 0);
    CHECK(widest_line(text) < static_cast<std::size_t>(columns == 0 ? 80 : columns));
    CHECK(text.substr(text.size() - 4) == "\r\033[K");
    if (columns == 200) {
      CHECK(text.find("1/2 kernels, ") != std::string::npos);
      CHECK(text.find("/s, ") != std::string::npos);
      CHECK(text.find(" elapsed") != std::string::npos);
      CHECK(text.find(" left") != std::string::npos);
    }
  }
}

TEST_CASE("On a dumb terminal there are lines and no bar") {
  Sandbox sandbox;
  Terminal terminal(80);
  sandbox.error_device = terminal.name();
  sandbox.environment["TERM"] = "dumb";
  CHECK(sandbox.run(two_kernels).exit_code == 0);
  const std::string text = terminal.text();
  CHECK(text.find('\033') == std::string::npos);
  CHECK(text.find("compiling: 2 kernels") != std::string::npos);
}
