#include "tools/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "jit/kernel_spec.hpp"
#include "tools/output.hpp"
#include "tools/table.hpp"

namespace cubinet::tools {
namespace {

// Of the terminal at standard error, as it is at this moment; 80 where it does not say.
std::size_t columns() {
  struct winsize size {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

const char* outcome_name(warmup::Outcome outcome) {
  switch (outcome) {
    case warmup::Outcome::compiled:
      return "compiled";
    case warmup::Outcome::there:
      return "there";
    case warmup::Outcome::failed:
      return "failed";
  }
  return "failed";
}

}  // namespace

ProgressStyle progress_style(bool quiet) {
  if (quiet) return ProgressStyle::none;
  return isatty(STDERR_FILENO) == 1 ? ProgressStyle::bar : ProgressStyle::lines;
}

ProgressDisplay::ProgressDisplay(ProgressStyle style) : style_(style) {}

void ProgressDisplay::begin(std::int64_t total) {
  if (style_ == ProgressStyle::bar) draw(0, total);
}

void ProgressDisplay::show(const warmup::Step& step) {
  if (style_ == ProgressStyle::lines) {
    log(fmt::format("[{}/{}] {}: {}\n", step.done, step.total, jit::describe(step.latest), outcome_name(step.outcome)));
  } else if (style_ == ProgressStyle::bar) {
    draw(step.done, step.total);
  }
}

void ProgressDisplay::draw(std::int64_t done, std::int64_t total) {
  log("\r\033[K" + bar_text(done, total, util::seconds_since(begin_), columns()));
  drawn_ = true;
}

void ProgressDisplay::clear() {
  if (drawn_) log("\r\033[K");
  drawn_ = false;
}

std::string bar_text(std::int64_t done, std::int64_t total, double seconds, std::size_t columns) {
  constexpr std::size_t widest = 30;
  constexpr std::size_t narrowest = 5;
  std::string text = fmt::format("{}/{} kernels  {} elapsed", done, total, milliseconds_text(seconds * 1000));
  if (done > 0 && done < total) {
    const double each = seconds / static_cast<double>(done);
    text += fmt::format(", about {} left", milliseconds_text(each * static_cast<double>(total - done) * 1000));
  }
  // The last column stays free: a terminal may begin a new line when it is filled.
  const std::size_t room = columns > 0 ? columns - 1 : 0;
  constexpr std::size_t frame = 4;  // the brackets, and two blanks
  if (room < text.size() + frame + narrowest) return text.substr(0, room);
  const std::size_t width = std::min(widest, room - text.size() - frame);
  const double share = total <= 0 ? 1 : std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(width));
  return fmt::format("[{}{}]  {}", std::string(filled, '#'), std::string(width - filled, '-'), text);
}

}  // namespace cubinet::tools
