// How a number of a plan came about.
#pragma once

#include <cstdint>
#include <string>

namespace cubinet::warmup {

// "N 4096 = 2 x moe_intermediate_size 2048 / 1": quantity "N", value 4096, how "2 x moe_intermediate_size 2048 / 1".
struct Derivation {
  std::string quantity;
  std::int64_t value = 0;
  std::string how;

  friend bool operator==(const Derivation&, const Derivation&) = default;
};

}  // namespace cubinet::warmup
