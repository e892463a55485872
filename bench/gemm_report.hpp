// The report of cubinet_bench_gemm.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench_cases.hpp"

namespace cubinet::bench {

// The result of one configuration on one case.
struct Measurement {
  Case c;
  std::string variant;            // "selected", or the label of a variant
  std::string config;             // name of the configuration
  double flop = 0;                // floating-point operations for the valid rows
  double bytes = 0;               // bytes of all weights, of the valid rows of A and D, and of scales
  std::vector<double> rounds_us;  // the median of each round
  std::string check;              // "ok", "unchecked", or a description of the error
  double difference = 0;          // largest 1 - 2<x,y>/(<x,x>+<y,y>) of all groups
  double error_share = 0;         // largest ratio of the error of an element to the rounding error allowed

  [[nodiscard]] double us() const;     // median of the rounds; 0 if there is none
  [[nodiscard]] double ratio() const;  // time of the peer divided by ours
  // Whether arithmetic takes longer than memory traffic at the peak rates of the card (790 TFLOP/s for BF16, 1323 for
  // FP8, 4.67 TB/s).
  [[nodiscard]] bool compute_bound() const;
  // The time at those peak rates divided by our time.
  [[nodiscard]] double share() const;
};

// table(): one line per case and configuration; the fastest configuration of a case is marked if there are several.
// geomeans(): geometric means of the ratio by class, by layout, and over all cases of a data type, once for the
// selected configurations and once for the fastest ones.
std::string table(const std::vector<Measurement>& measurements);
std::string geomeans(const std::vector<Measurement>& measurements);
nlohmann::json to_json(const std::vector<Measurement>& measurements);

}  // namespace cubinet::bench
