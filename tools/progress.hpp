// Progress on standard error: a bar on a terminal, plain lines otherwise, nothing when quiet.
#pragma once

#include <cstdint>
#include <string>

#include "util/elapsed.hpp"

namespace cubinet::tools {

enum class ProgressStyle { none, lines, bar };

// A bar if standard error is a terminal, else lines; none when `quiet`.
ProgressStyle progress_style(bool quiet);

// Not thread-safe; the runner calls it from one thread at a time.
class ProgressDisplay {
 public:
  explicit ProgressDisplay(ProgressStyle style);
  // Nothing is done yet: a bar shows that at once, lines begin with the first that is done.
  void begin(std::int64_t total);
  // `label` names what was finished last.
  void show(std::int64_t done, std::int64_t total, const std::string& label);
  // Takes the bar off the screen.
  void clear();

 private:
  void draw(std::int64_t done, std::int64_t total);

  ProgressStyle style_;
  bool drawn_ = false;
  util::Moment begin_ = util::now();
};

// The bar's line: "[#######-------]  12/34  3.1/s  4 s". Pure, for tests.
std::string bar_text(std::int64_t done, std::int64_t total, double seconds);

}  // namespace cubinet::tools
