#include "tools/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "tools/table.hpp"

namespace cubinet::tools {

ProgressStyle progress_style(bool quiet) {
  if (quiet) return ProgressStyle::none;
  return isatty(STDERR_FILENO) == 1 ? ProgressStyle::bar : ProgressStyle::lines;
}

ProgressDisplay::ProgressDisplay(ProgressStyle style) : style_(style) {}

void ProgressDisplay::begin(std::int64_t total) {
  if (style_ == ProgressStyle::bar) draw(0, total);
}

void ProgressDisplay::show(std::int64_t done, std::int64_t total, const std::string& label) {
  if (style_ == ProgressStyle::lines) {
    fmt::print(stderr, "[{}/{}] {}\n", done, total, label);
  } else if (style_ == ProgressStyle::bar) {
    draw(done, total);
  }
}

void ProgressDisplay::draw(std::int64_t done, std::int64_t total) {
  fmt::print(stderr, "\r\033[K{}", bar_text(done, total, util::seconds_since(begin_)));
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressDisplay::clear() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
  drawn_ = false;
}

std::string bar_text(std::int64_t done, std::int64_t total, double seconds) {
  constexpr std::int64_t width = 30;
  const std::int64_t filled = total <= 0 ? width : std::clamp<std::int64_t>(done * width / total, 0, width);
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  return fmt::format("[{}{}]  {}/{} kernels  {:.1f}/s  {}", std::string(static_cast<std::size_t>(filled), '#'),
                     std::string(static_cast<std::size_t>(width - filled), '-'), done, total, rate,
                     milliseconds_text(seconds * 1000));
}

}  // namespace cubinet::tools
