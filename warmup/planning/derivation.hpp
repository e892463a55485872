// How the numbers of a plan came about, so that a user can hold them against an engine's log.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cubinet::warmup {

// A number of the plan, and what it was made of: {"GEMM1 N", 4096, "2 x moe_intermediate_size 2048 / 1"}.
struct Derivation {
  std::string quantity;
  std::int64_t value = 0;
  std::string how;

  friend bool operator==(const Derivation&, const Derivation&) = default;
};

// Lines "GEMM1 N 4096 = 2 x moe_intermediate_size 2048 / 1", the signs one below the other. Empty for none.
std::string derivation_text(const std::vector<Derivation>& derivation);

// The members `derivation` ([{quantity, value, how}]) and `notes` ([text]) of a JSON object, as JSON. Throws
// std::bad_alloc alone.
std::string derivation_json(const std::vector<Derivation>& derivation);
std::string notes_json(const std::vector<std::string>& notes);

}  // namespace cubinet::warmup
