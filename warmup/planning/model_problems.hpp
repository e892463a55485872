// Computes the grouped GEMMs of one rank from the shape of a model's experts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cubinet/problem.hpp"
#include "util/expected.hpp"
#include "warmup/planning/model.hpp"
#include "warmup/planning/option_names.hpp"

namespace cubinet::warmup {

// A number of the plan, and how it was computed: {"GEMM1 N", 4096, "2 x moe_intermediate_size 2048 / 1"}. With these a
// user can compare the plan with an engine's log.
struct Derivation {
  std::string quantity;
  std::int64_t value = 0;
  std::string how;

  friend bool operator==(const Derivation&, const Derivation&) = default;
};

// Lines "GEMM1 N 4096 = 2 x moe_intermediate_size 2048 / 1" with aligned equals signs. Empty if there are none.
std::string derivation_text(const std::vector<Derivation>& derivation);

// How an engine distributes a model's experts over its ranks.
struct Parallelism {
  std::int64_t expert = 1;         // ranks over which the experts are distributed
  std::int64_t tensor = 1;         // ranks over which each expert's width is split
  std::int64_t redundant = 0;      // additional copies of experts, of all ranks together, distributed like the others
  std::int64_t fused_shared = 0;   // additional groups of each rank, for shared experts fused into the same GEMM
  std::int64_t padded_hidden = 0;  // the hidden size after the engine's padding; 0 if it does not pad

  friend bool operator==(const Parallelism&, const Parallelism&) = default;
};

// The smallest size >= `size` that the kernels of `type` take both as K and as N, to which a width can be padded. None
// if there is no such size.
std::optional<std::int64_t> padded_size(DataType type, std::int64_t size);

// The problems of one rank: for each distinct layer, type and layout, GEMM1 (N = 2I, or I without a gate; K = H) and
// GEMM2 (N = H, K = I), where H is the hidden size and I the expert's width on one rank. If the number of experts is
// not a multiple of the ranks, some ranks have one group more than others; both numbers are planned, the larger one
// first. Errors: invalid_argument for a number below its minimum, more ranks than experts, a width that is not a
// multiple of the ranks, and a padded hidden size below the model's; unsupported for a hidden size or width that the
// kernels do not take, naming the key, the ranks, the resulting size and a size that would do.
Expected<std::vector<Problem>> problems_of(const MoeShape& shape, const Parallelism& parallelism,
                                           const std::vector<Layout>& layouts,
                                           const std::vector<DataType>& types = {DataType::bf16},
                                           const OptionNames& names = command_options);

// The derivation of these problems' sizes, each line once. Precondition: problems_of() succeeds for the same arguments.
std::vector<Derivation> derivation_of(const MoeShape& shape, const Parallelism& parallelism);

}  // namespace cubinet::warmup
