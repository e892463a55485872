#include "tools/progress_counts.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tools/output.hpp"

namespace cubinet::tools {
namespace {

std::string seconds_text(double seconds) { return milliseconds_text(seconds * 1000); }

// "12/34 kernels, 3.1/s, 4.0 s elapsed", as far as known.
std::string figures_text(const ProgressCounts& counts) {
  std::string text = fmt::format("{}/{} kernels", counts.done, counts.total);
  if (counts.phase == Phase::executing) text += " executed";
  if (const auto speed = rate(counts)) text += fmt::format(", {:.1f}/s", *speed);
  text += fmt::format(", {} elapsed", seconds_text(counts.seconds));
  return text;
}

// ", about 7.3 s left"; empty if all is done, or if it is unknown.
std::string left_text(const ProgressCounts& counts) {
  const auto left = seconds_left(counts);
  if (!left || counts.done >= counts.total) return {};
  return fmt::format(", about {} left", seconds_text(*left));
}

}  // namespace

std::string waiting_text(std::int64_t holder) {
  return holder == 0 ? "waiting for another process" : fmt::format("waiting for process {}", holder);
}

std::optional<double> rate(const ProgressCounts& counts) {
  const double seconds = counts.seconds - counts.waited_seconds;
  if (counts.worked <= 0 || seconds <= 0) return std::nullopt;
  return static_cast<double>(counts.worked) / seconds;
}

std::optional<double> seconds_left(const ProgressCounts& counts) {
  if (counts.done >= counts.total) return 0;
  const auto speed = rate(counts);
  if (!speed) return std::nullopt;
  return static_cast<double>(counts.total - counts.done) / *speed;
}

std::string bar_text(const ProgressCounts& counts, std::size_t columns) {
  constexpr std::size_t widest = 30;
  constexpr std::size_t narrowest = 5;
  const std::string text = figures_text(counts) + left_text(counts);
  // The last column stays free: a terminal may wrap when it is filled.
  const std::size_t room = columns > 0 ? columns - 1 : 0;
  constexpr std::size_t frame = 4;  // the brackets, and two blanks
  if (room < text.size() + frame + narrowest) return text.substr(0, room);
  const std::size_t width = std::min(widest, room - text.size() - frame);
  const double part = static_cast<double>(counts.done) / static_cast<double>(std::max<std::int64_t>(counts.total, 1));
  const double share = counts.total <= 0 ? 1 : std::clamp(part, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(width));
  return fmt::format("[{}{}]  {}", std::string(filled, '#'), std::string(width - filled, '-'), text);
}

std::string line_text(const ProgressCounts& counts) {
  constexpr double long_seconds = 5;
  std::string text = last_line_text(counts) + left_text(counts);
  if (!counts.current.empty() && counts.current_seconds >= long_seconds) {
    text += fmt::format("; {} for {}", counts.current, seconds_text(counts.current_seconds));
  }
  return text;
}

std::string last_line_text(const ProgressCounts& counts) {
  return fmt::format("{}: {}", warmup::phase_name(counts.phase), figures_text(counts));
}

}  // namespace cubinet::tools
