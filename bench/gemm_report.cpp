#include "gemm_report.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "jit/problems.hpp"

namespace cubinet::bench {
namespace {

constexpr double kBf16FlopPerSecond = 790e12;
constexpr double kFp8FlopPerSecond = 1323e12;
constexpr double kBytesPerSecond = 4.67e12;

double flop_per_second(const Measurement& m) {
  return m.c.problem.data_type == DataType::fp8 ? kFp8FlopPerSecond : kBf16FlopPerSecond;
}

bool timed(const Measurement& m) { return !m.rounds_us.empty(); }

// The best ratio of each case by name. Measurements without a time are skipped.
std::map<std::string, double> best_ratios(const std::vector<Measurement>& measurements) {
  std::map<std::string, double> best;
  for (const auto& m : measurements) {
    if (timed(m)) best[m.c.name] = std::max(best[m.c.name], m.ratio());
  }
  return best;
}

std::string line(const Measurement& m, bool best) {
  if (!timed(m)) return fmt::format("{:<38} not timed: {}  {} {}\n", m.c.name, m.check, m.config, m.variant);
  const auto [low, high] = std::minmax_element(m.rounds_us.begin(), m.rounds_us.end());
  const double us = m.us();
  return fmt::format("{:<38} {:9.2f} {:9.2f} {:9.2f} {:9.2f} {:6.3f}{} {:6.0f} {:6.0f} {:6.1f}%  {} {} {}\n", m.c.name,
                     us, *low, *high, m.c.peer_us, m.ratio(), best ? '*' : ' ', m.flop / us / 1e6, m.bytes / us / 1e3,
                     100 * m.share(), m.config, m.variant, m.check);
}

struct Mean {
  double logs = 0;
  int count = 0;
  void add(double ratio) {
    logs += std::log(ratio);
    ++count;
  }
  [[nodiscard]] double value() const { return count == 0 ? 0 : std::exp(logs / count); }
};

// The names of the means to which a case contributes: its class, its layout, and all cases of its data type.
std::vector<std::string> keys_of(const Case& c) {
  const std::string type = jit::data_type_name(c.problem.data_type);
  return {c.group_class, "= " + type + (c.problem.layout == Layout::masked ? " masked" : " contig"),
          "= " + type + " all"};
}

}  // namespace

double Measurement::us() const {
  if (rounds_us.empty()) return 0;
  auto sorted = rounds_us;
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

double Measurement::ratio() const { return rounds_us.empty() ? 0 : c.peer_us / us(); }

bool Measurement::compute_bound() const { return flop / flop_per_second(*this) > bytes / kBytesPerSecond; }

double Measurement::share() const {
  return rounds_us.empty() ? 0 : 1e6 * std::max(flop / flop_per_second(*this), bytes / kBytesPerSecond) / us();
}

std::string table(const std::vector<Measurement>& measurements) {
  const auto best = best_ratios(measurements);
  std::map<std::string, int> timed_per_case;
  for (const auto& m : measurements) timed_per_case[m.c.name] += timed(m) ? 1 : 0;
  std::string text = fmt::format("{:<38} {:>9} {:>9} {:>9} {:>9} {:>6}  {:>6} {:>6} {:>7}  {}\n", "case", "us", "min",
                                 "max", "peer us", "ratio", "TF/s", "GB/s", "ceiling", "configuration");
  for (const auto& m : measurements) {
    const bool winner = timed(m) && timed_per_case[m.c.name] > 1 && m.ratio() >= best.at(m.c.name);
    text += line(m, winner);
  }
  return text;
}

std::string geomeans(const std::vector<Measurement>& measurements) {
  const auto best = best_ratios(measurements);
  std::map<std::string, Mean> of_selected;
  std::map<std::string, Mean> of_best;
  for (const auto& m : measurements) {
    if (m.variant != "selected" || !timed(m)) continue;
    for (const auto& key : keys_of(m.c)) {
      of_selected[key].add(m.ratio());
      of_best[key].add(best.at(m.c.name));
    }
  }
  std::string text = fmt::format("{:<25} {:>6} {:>9} {:>9}\n", "geometric mean", "cases", "selected", "best");
  for (const auto& [key, mean] : of_selected) {
    text += fmt::format("{:<25} {:>6} {:>9.3f} {:>9.3f}\n", key, mean.count, mean.value(), of_best[key].value());
  }
  return text;
}

nlohmann::json to_json(const std::vector<Measurement>& measurements) {
  auto list = nlohmann::json::array();
  for (const auto& m : measurements) {
    list.push_back({{"case", m.c.name},
                    {"variant", m.variant},
                    {"config", m.config},
                    {"us", m.us()},
                    {"rounds_us", m.rounds_us},
                    {"peer_us", m.c.peer_us},
                    {"ratio", m.ratio()},
                    {"flop", m.flop},
                    {"bytes", m.bytes},
                    {"ceiling_share", m.share()},
                    {"check", m.check},
                    {"difference", m.difference},
                    {"error_share", m.error_share}});
  }
  return list;
}

}  // namespace cubinet::bench
