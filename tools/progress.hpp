// Progress on standard error: a bar on a terminal, plain lines otherwise, nothing when quiet.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace cubinet::tools {

enum class ProgressStyle { none, lines, bar };

// A bar if standard error is a terminal, else lines; none when `quiet`.
ProgressStyle progress_style(bool quiet);

// Not thread-safe; the runner calls it from one thread at a time.
class ProgressDisplay {
 public:
  explicit ProgressDisplay(ProgressStyle style);
  // `label` names what was finished last.
  void show(std::int64_t done, std::int64_t total, const std::string& label);
  // Takes the bar off the screen.
  void clear();

 private:
  ProgressStyle style_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point begin_;
};

// The bar's line: "[#######-------]  12/34  3.1/s  4 s". Pure, for tests.
std::string bar_text(std::int64_t done, std::int64_t total, double seconds);

}  // namespace cubinet::tools
