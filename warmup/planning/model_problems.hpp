// From the shape of a model's experts to the grouped GEMMs of one rank.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cubinet/problem.hpp"
#include "util/expected.hpp"
#include "warmup/planning/derivation.hpp"
#include "warmup/planning/model.hpp"
#include "warmup/planning/option_names.hpp"

namespace cubinet::warmup {

// How an engine divides a model's experts over its ranks.
struct Parallelism {
  std::int64_t expert = 1;         // ranks over which the experts are dealt
  std::int64_t tensor = 1;         // ranks over which each expert's width is split
  std::int64_t redundant = 0;      // further copies of experts over all ranks, dealt with the others
  std::int64_t fused_shared = 0;   // groups that each rank has besides, for a shared expert fused into the same GEMM
  std::int64_t padded_hidden = 0;  // the hidden size as the engine pads it; 0: it does not

  friend bool operator==(const Parallelism&, const Parallelism&) = default;
};

// The smallest size, `size` or above it, that the kernels of `type` take as K, and as N: what a width that they do not
// take can be padded to. nullopt: there is none.
std::optional<std::int64_t> padded_size(DataType type, std::int64_t size);

// GEMM1 (N = 2I, or I where the experts have no gate; K = H) and GEMM2 (N = H, K = I) of each distinct layer, in each
// of `types` and `layouts`. Experts that do not divide evenly give some ranks one group more than others: both numbers
// are planned, the larger one first. Errors (invalid_argument): a number below its least, more ranks than experts, a
// width that does not divide (naming both numbers), and a padded hidden size below the model's. unsupported: a hidden
// size or a width that the kernels do not take; it names the key, the ranks, what they gave, and the size that would
// do.
Expected<std::vector<Problem>> problems_of(const MoeShape& shape, const Parallelism& parallelism,
                                           const std::vector<Layout>& layouts,
                                           const std::vector<DataType>& types = {DataType::bf16},
                                           const OptionNames& names = command_options);

// How the sizes of these problems come about, each line once. Precondition: problems_of() holds for them.
std::vector<Derivation> derivation_of(const MoeShape& shape, const Parallelism& parallelism);

}  // namespace cubinet::warmup
