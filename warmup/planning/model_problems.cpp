#include "warmup/planning/model_problems.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "jit/families/registry.hpp"
#include "warmup/planning/model_fields.hpp"

namespace cubinet::warmup {
namespace {

// A size that every kernel takes as N and as K.
constexpr std::int64_t sound_size = 4096;

// No kernel requires its sizes to be a multiple of more than this.
constexpr std::int64_t largest_padding = 1024;

tl::unexpected<Error> refuse(std::string message) { return fail(ErrorCode::invalid_argument, std::move(message)); }

Expected<void> check_number(std::int64_t value, std::int64_t least, const char* what) {
  if (value < least) return refuse(fmt::format("{} must be at least {}, not {}", what, least, value));
  if (value > largest_number) return refuse(fmt::format("{} must be at most {}, not {}", what, largest_number, value));
  return {};
}

Expected<void> check_numbers(const Parallelism& parallelism, const OptionNames& names) {
  return check_number(parallelism.expert, 1, names.expert_parallel)
      .and_then([&] { return check_number(parallelism.tensor, 1, names.tensor_parallel); })
      .and_then([&] { return check_number(parallelism.redundant, 0, names.redundant_experts); })
      .and_then([&] { return check_number(parallelism.fused_shared, 0, "the number of fused shared experts"); })
      .and_then([&] { return check_number(parallelism.padded_hidden, 0, "the padded hidden size"); });
}

// The sizes of the two GEMMs of a layer on one rank.
struct RankShape {
  Derivation groups, n1, k1, n2, k2;
};

// "n_routed_experts 256 / ep 8", with redundant and fused shared experts.
std::string share_text(const KeyedNumber& experts, const Parallelism& ranks, const char* rounded) {
  std::string all = fmt::format("{} {}", experts.key, experts.value);
  if (ranks.redundant > 0) all = fmt::format("({} + redundant {})", all, ranks.redundant);
  all += fmt::format(" / ep {}{}", ranks.expert, rounded);
  return ranks.fused_shared > 0 ? fmt::format("{} + fused shared {}", all, ranks.fused_shared) : all;
}

// The numbers of groups per rank: one number, or two, the larger one first, if the ranks do not divide the experts.
Expected<std::vector<Derivation>> groups_of(const KeyedNumber& experts, const Parallelism& ranks,
                                            const OptionNames& names) {
  const std::int64_t all = experts.value + ranks.redundant;
  const std::int64_t fewest = all / ranks.expert;
  if (fewest == 0) {
    return refuse(fmt::format("the number of experts, {}, is below {} {}: some ranks would have none", all,
                              names.expert_parallel, ranks.expert));
  }
  const auto groups = [&](std::int64_t share, const char* rounded) {
    return Derivation{"groups", share + ranks.fused_shared, share_text(experts, ranks, rounded)};
  };
  if (all % ranks.expert == 0) return std::vector{groups(fewest, "")};
  return std::vector{groups(fewest + 1, ", rounded up"), groups(fewest, ", rounded down")};
}

// N of GEMM1 and K of GEMM2. K is the part of an expert's width on one rank. N is twice that, for the up projection and
// the gate, or once if there is no gate.
Expected<std::pair<Derivation, Derivation>> widths_of(const MoeShape& shape, const KeyedNumber& width,
                                                      const Parallelism& ranks, const OptionNames& names) {
  if (width.value % ranks.tensor != 0) {
    return refuse(fmt::format("the width of an expert, {}, cannot be split evenly over {} {}", width.value,
                              names.tensor_parallel, ranks.tensor));
  }
  const std::int64_t part = width.value / ranks.tensor;
  const std::string how = fmt::format("{} {} / {}", width.key, width.value, ranks.tensor);
  const bool gated = shape.ungated.empty();
  Derivation n = gated ? Derivation{"GEMM1 N", 2 * part, "2 x " + how}
                       : Derivation{"GEMM1 N", part, fmt::format("{}, no gate: {}", how, shape.ungated)};
  return std::pair{std::move(n), Derivation{"GEMM2 K", part, how}};
}

Expected<KeyedNumber> hidden_of(const KeyedNumber& hidden, const Parallelism& ranks) {
  if (ranks.padded_hidden == 0) return hidden;
  if (ranks.padded_hidden < hidden.value) {
    return refuse(
        fmt::format("the padded hidden size, {}, is below the hidden size, {}", ranks.padded_hidden, hidden.value));
  }
  return KeyedNumber{ranks.padded_hidden, fmt::format("{} {}, padded", hidden.key, hidden.value)};
}

// Whether the kernels of `type` take the size, as N if `as_n` is set, else as K.
Expected<void> check_size(DataType type, std::int64_t size, bool as_n) {
  return jit::families().can_run({type, Layout::masked, as_n ? size : sound_size, as_n ? sound_size : size, 1});
}

// Whether the kernels take the rank's part of an expert's width as N and as K. The error says to which size to pad it.
Expected<void> check_width(const KeyedNumber& width, const RankShape& rank, std::int64_t tensor, DataType type,
                           const OptionNames& names) {
  const std::int64_t part = rank.k2.value;
  const std::int64_t projections = rank.n1.value / part;
  for (const bool as_n : {true, false}) {
    const std::int64_t size = as_n ? rank.n1.value : part;
    auto allowed = check_size(type, size, as_n);
    if (allowed) continue;
    Error error = std::move(allowed).error();
    error.message = fmt::format("expert width {} over {} {} gives {} = {}: {}", width.value, names.tensor_parallel,
                                tensor, as_n ? "N" : "K", size, error.message);
    const auto padded = padded_size(type, part);
    if (padded && *padded > part &&
        jit::families().can_run({type, Layout::masked, projections * *padded, *padded, 1})) {
      error.message += fmt::format("; pad the expert width to {} per rank", *padded);
    }
    return fail(std::move(error));
  }
  return {};
}

// Whether the kernels take the hidden size as K and as N. The error names the key in the model's file, because the user
// gave a file; the error of can_run names N and K.
Expected<void> check_hidden(const KeyedNumber& hidden, const RankShape& rank, DataType type) {
  const std::int64_t size = rank.k1.value;
  const auto taken = jit::families().can_run({type, Layout::masked, size, size, 1});
  if (taken) return {};
  const auto padded = padded_size(type, size);
  const std::string advice = padded && *padded > size ? fmt::format("; pad it to {}", *padded) : "";
  return fail(taken.error().code, fmt::format("{} {}: {}{}", hidden.key, size, taken.error().message, advice));
}

Expected<std::vector<RankShape>> rank_shapes_of(const MoeShape& shape, const ExpertShape& layer,
                                                const Parallelism& ranks, const OptionNames& names) {
  const auto groups = groups_of(layer.experts, ranks, names);
  if (!groups) return propagate(groups);
  const auto widths = widths_of(shape, layer.width, ranks, names);
  if (!widths) return propagate(widths);
  const auto hidden = hidden_of(layer.hidden, ranks);
  if (!hidden) return propagate(hidden);
  std::vector<RankShape> shapes;
  for (const Derivation& one : *groups) {
    shapes.push_back({one,
                      widths->first,
                      {"GEMM1 K", hidden->value, hidden->key},
                      {"GEMM2 N", hidden->value, hidden->key},
                      widths->second});
  }
  return shapes;
}

// Whether the kernels take the sizes of `rank`. The number of groups is not checked; it can make a problem too large.
Expected<void> check_sizes(const ExpertShape& layer, const RankShape& rank, const Parallelism& ranks, DataType type,
                           const OptionNames& names) {
  return check_hidden(layer.hidden, rank, type).and_then([&] {
    return check_width(layer.width, rank, ranks.tensor, type, names);
  });
}

void add(std::vector<Problem>& problems, const RankShape& rank, DataType type, Layout layout) {
  const auto groups = static_cast<std::int32_t>(rank.groups.value);
  problems.push_back({type, layout, rank.n1.value, rank.k1.value, groups});
  problems.push_back({type, layout, rank.n2.value, rank.k2.value, groups});
}

// The problems of one layer of the model.
Expected<void> add_layer(std::vector<Problem>& problems, const MoeShape& shape, const ExpertShape& layer,
                         const Parallelism& ranks, const std::vector<Layout>& layouts,
                         const std::vector<DataType>& types, const OptionNames& names) {
  const auto of_ranks = rank_shapes_of(shape, layer, ranks, names);
  if (!of_ranks) return propagate(of_ranks);
  for (const DataType type : types) {
    const auto sound = check_sizes(layer, of_ranks->front(), ranks, type, names);
    if (!sound) return sound;
    for (const Layout layout : layouts) {
      for (const RankShape& rank : *of_ranks) add(problems, rank, type, layout);
    }
  }
  return {};
}

}  // namespace

std::optional<std::int64_t> padded_size(DataType type, std::int64_t size) {
  for (std::int64_t candidate = std::max<std::int64_t>(size, 1); candidate < size + largest_padding; ++candidate) {
    if (jit::families().can_run({type, Layout::masked, candidate, candidate, 1})) return candidate;
  }
  return std::nullopt;
}

Expected<std::vector<Problem>> problems_of(const MoeShape& shape, const Parallelism& parallelism,
                                           const std::vector<Layout>& layouts, const std::vector<DataType>& types,
                                           const OptionNames& names) {
  if (auto sound = check_numbers(parallelism, names); !sound) return propagate(sound);
  std::vector<Problem> problems;
  for (const ExpertShape& layer : shape.layers) {
    auto added = add_layer(problems, shape, layer, parallelism, layouts, types, names);
    if (!added) return propagate(added);
  }
  return problems;
}

std::vector<Derivation> derivation_of(const MoeShape& shape, const Parallelism& parallelism) {
  std::vector<Derivation> lines;
  const auto add_once = [&](const Derivation& line) {
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  };
  for (const ExpertShape& layer : shape.layers) {
    const auto of_ranks = rank_shapes_of(shape, layer, parallelism, command_options).value();
    for (const RankShape& rank : of_ranks) add_once(rank.groups);
    const RankShape& any = of_ranks.front();  // ranks differ only in their number of groups
    for (const Derivation& line : {any.n1, any.k1, any.n2, any.k2}) add_once(line);
  }
  return lines;
}

std::string derivation_text(const std::vector<Derivation>& derivation) {
  std::vector<std::string> numbers;
  std::size_t longest = 0;
  for (const Derivation& one : derivation) {
    numbers.push_back(fmt::format("{} {}", one.quantity, one.value));
    longest = std::max(longest, numbers.back().size());
  }
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    text += fmt::format("{:<{}} = {}\n", numbers[i], longest, derivation[i].how);
  }
  return text;
}

}  // namespace cubinet::warmup
