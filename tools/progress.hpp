// Progress on standard error: a bar on a terminal, plain lines otherwise, nothing when quiet. What cannot be printed is
// dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "util/elapsed.hpp"
#include "warmup/runner.hpp"

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
  // A line says what became of the kernel: compiled, there or failed.
  void show(const warmup::Step& step);
  // Takes the bar off the screen.
  void clear();

 private:
  void draw(std::int64_t done, std::int64_t total);

  ProgressStyle style_;
  bool drawn_ = false;
  util::Moment begin_ = util::now();
};

// The bar's line, "[#######-------]  12/34 kernels  4.0 s elapsed, about 7.3 s left", in fewer than `columns`: the bar
// gives way first. Pure.
std::string bar_text(std::int64_t done, std::int64_t total, double seconds, std::size_t columns);

}  // namespace cubinet::tools
