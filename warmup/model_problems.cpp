#include "warmup/model_problems.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "jit/selector.hpp"

namespace cubinet::warmup {
namespace {

// Is always taken, as N and as K.
constexpr std::int64_t sound_size = 4096;

// No rule of the kernels asks for a size that is a multiple of more than this.
constexpr std::int64_t largest_padding = 1024;

// Far above any engine; sums and products of two such numbers stay within 64 bits.
constexpr std::int64_t largest_number = std::int64_t{1} << 30;

tl::unexpected<Error> refuse(std::string message) { return fail(ErrorCode::invalid_argument, std::move(message)); }

Expected<void> check_number(std::int64_t value, std::int64_t least, const char* what) {
  if (value < least) return refuse(fmt::format("{} must be at least {}, not {}", what, least, value));
  if (value > largest_number) return refuse(fmt::format("{} must be at most {}, not {}", what, largest_number, value));
  return {};
}

Expected<void> check_numbers(const Parallelism& parallelism) {
  return check_number(parallelism.expert, 1, "expert parallelism")
      .and_then([&] { return check_number(parallelism.tensor, 1, "tensor parallelism"); })
      .and_then([&] { return check_number(parallelism.redundant, 0, "the number of redundant experts"); })
      .and_then([&] { return check_number(parallelism.fused_shared, 0, "the number of fused shared experts"); })
      .and_then([&] { return check_number(parallelism.padded_hidden, 0, "the padded hidden size"); });
}

// The groups that ranks have: one number, or where the experts do not divide evenly two, the larger one first.
Expected<std::vector<std::int32_t>> groups_of(const MoeShape& shape, const Parallelism& parallelism) {
  const std::int64_t experts = shape.experts + parallelism.redundant;
  const std::int64_t fewest = experts / parallelism.expert;
  if (fewest == 0) {
    return refuse(fmt::format("the number of experts, {}, is below expert parallelism {}: some ranks would have none",
                              experts, parallelism.expert));
  }
  const auto with_shared = [&](std::int64_t groups) {
    return static_cast<std::int32_t>(groups + parallelism.fused_shared);
  };
  if (experts % parallelism.expert == 0) return std::vector{with_shared(fewest)};
  return std::vector{with_shared(fewest + 1), with_shared(fewest)};
}

// The part of an expert's width on a rank.
Expected<std::int64_t> width_of(const MoeShape& shape, const Parallelism& parallelism) {
  if (shape.expert_width % parallelism.tensor == 0) return shape.expert_width / parallelism.tensor;
  return refuse(fmt::format("the width of an expert, {}, cannot be split evenly over tensor parallelism {}",
                            shape.expert_width, parallelism.tensor));
}

Expected<std::int64_t> hidden_of(const MoeShape& shape, const Parallelism& parallelism) {
  if (parallelism.padded_hidden == 0) return shape.hidden_size;
  if (parallelism.padded_hidden >= shape.hidden_size) return parallelism.padded_hidden;
  return refuse(fmt::format("the padded hidden size, {}, is below the hidden size, {}", parallelism.padded_hidden,
                            shape.hidden_size));
}

// Whether the kernels of `type` take what a rank's part of an expert's width comes to as N and as K. The hidden size is
// not looked at: no parallelism changes it.
Expected<void> check_width(const MoeShape& shape, std::int64_t tensor, std::int64_t width, DataType type,
                           const OptionNames& names) {
  for (const bool as_n : {true, false}) {
    const std::int64_t size = as_n ? 2 * width : width;
    auto allowed = jit::can_run({type, Layout::masked, as_n ? size : sound_size, as_n ? sound_size : size, 1});
    if (allowed) continue;
    Error error = std::move(allowed).error();
    error.message = fmt::format("expert width {} over {} {} gives {} = {}: {}", shape.expert_width,
                                names.tensor_parallel, tensor, as_n ? "N" : "K", size, error.message);
    const auto padded = padded_size(type, width);
    if (padded && *padded > width && jit::can_run({type, Layout::masked, 2 * *padded, *padded, 1})) {
      error.message += fmt::format("; padding the expert width to {} per rank mends it", *padded);
    }
    return tl::make_unexpected(std::move(error));
  }
  return {};
}

}  // namespace

std::optional<std::int64_t> padded_size(DataType type, std::int64_t size) {
  for (std::int64_t candidate = std::max<std::int64_t>(size, 1); candidate < size + largest_padding; ++candidate) {
    if (jit::can_run({type, Layout::masked, candidate, candidate, 1})) return candidate;
  }
  return std::nullopt;
}

Expected<std::vector<Problem>> problems_of(const MoeShape& shape, const Parallelism& parallelism,
                                           const std::vector<Layout>& layouts, const std::vector<DataType>& types,
                                           const OptionNames& names) {
  if (auto sound = check_numbers(parallelism); !sound) return tl::make_unexpected(sound.error());
  const auto groups = groups_of(shape, parallelism);
  if (!groups) return tl::make_unexpected(groups.error());
  const auto width = width_of(shape, parallelism);
  if (!width) return tl::make_unexpected(width.error());
  const auto hidden = hidden_of(shape, parallelism);
  if (!hidden) return tl::make_unexpected(hidden.error());

  std::vector<Problem> problems;
  for (const DataType type : types) {
    const auto sound = check_width(shape, parallelism.tensor, *width, type, names);
    if (!sound) return tl::make_unexpected(sound.error());
    for (const Layout layout : layouts) {
      for (const std::int32_t on_rank : *groups) {
        problems.push_back({type, layout, 2 * *width, *hidden, on_rank});
        problems.push_back({type, layout, *hidden, *width, on_rank});
      }
    }
  }
  return problems;
}

}  // namespace cubinet::warmup
