// What cubinet_bench_gemm prints.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench_cases.hpp"

namespace cubinet::bench {

// One configuration on one case.
struct Measurement {
  Case c;
  std::string variant;            // "selected", or a variant's label
  std::string config;             // the configuration's name
  double flop = 0;                // of the valid rows
  double bytes = 0;               // weights of all groups, valid rows of A and D, scales
  std::vector<double> rounds_us;  // a median per round
  std::string check;              // "ok", "unchecked", or what is wrong
  double difference = 0;          // worst 1 - 2<x,y>/(<x,x>+<y,y>) over the groups
  double error_share = 0;         // worst error of an element over what rounding explains

  [[nodiscard]] double us() const;     // median of the rounds; 0 when there is none
  [[nodiscard]] double ratio() const;  // the peer's time over ours
  // Whether the card's ceilings (790 TFLOP/s for BF16, 1323 for FP8, 4.67 TB/s) leave arithmetic the longer time.
  [[nodiscard]] bool compute_bound() const;
  // The time that the ceilings allow over ours.
  [[nodiscard]] double share() const;
};

// The table case by case (the best configuration of a case is marked when there are several), then geometric means of
// the ratio by class, and by layout and over all of a data type: of the selected configurations, and of the best ones.
std::string table(const std::vector<Measurement>& measurements);
std::string geomeans(const std::vector<Measurement>& measurements);
nlohmann::json to_json(const std::vector<Measurement>& measurements);

}  // namespace cubinet::bench
