// Tests of the problems of a rank that follow from a model's shape.
#include <algorithm>

#include "catch.hpp"
#include "model_shape.hpp"
#include "warmup/planning/model_problems.hpp"

namespace {

using namespace cubinet;
using Catch::Matchers::StartsWith;
using test::shape_of;
using warmup::MoeShape;

}  // namespace

TEST_CASE("A model's two GEMMs appear once per layout, divided over the ranks") {
  const MoeShape shape = shape_of(7168, 2048, 256);
  const auto problems = warmup::problems_of(shape, {8, 2}, {Layout::masked, Layout::contiguous});
  REQUIRE(problems);
  const std::vector<Problem> expected{
      {DataType::bf16, Layout::masked, 2048, 7168, 32},
      {DataType::bf16, Layout::masked, 7168, 1024, 32},
      {DataType::bf16, Layout::contiguous, 2048, 7168, 32},
      {DataType::bf16, Layout::contiguous, 7168, 1024, 32},
  };
  CHECK(*problems == expected);
}

TEST_CASE("A model's GEMMs appear once per type of operands") {
  const MoeShape shape = shape_of(7168, 2048, 256);
  const auto problems =
      warmup::problems_of(shape, {8, 1}, {Layout::masked, Layout::contiguous}, {DataType::fp8, DataType::bf16});
  REQUIRE(problems);
  REQUIRE(problems->size() == 8);
  for (const DataType type : {DataType::fp8, DataType::bf16}) {
    for (const Layout layout : {Layout::masked, Layout::contiguous}) {
      CHECK(std::count(problems->begin(), problems->end(), Problem{type, layout, 4096, 7168, 32}) == 1);
      CHECK(std::count(problems->begin(), problems->end(), Problem{type, layout, 7168, 2048, 32}) == 1);
    }
  }
}

TEST_CASE("A number of ranks that does not divide the model is refused with both numbers") {
  const MoeShape shape = shape_of(4096, 14336, 8);
  const auto message = [&](warmup::Parallelism parallelism) {
    const auto problems = warmup::problems_of(shape, parallelism, {Layout::masked});
    REQUIRE_FALSE(problems);
    return problems.error().message;
  };
  CHECK(message({16, 1}) == "the number of experts, 8, is below --ep 16: some ranks would have none");
  CHECK(message({1, 3}) == "the width of an expert, 14336, cannot be split evenly over --tp 3");
  CHECK(message({0, 1}) == "--ep must be at least 1, not 0");
  CHECK(message({.redundant = -1}) == "--redundant-experts must be at least 0, not -1");
  CHECK(message({.padded_hidden = 2048}) == "the padded hidden size, 2048, is below the hidden size, 4096");
  CHECK_THAT(message({.redundant = std::int64_t{1} << 62}),
             StartsWith("--redundant-experts must be at most"));
}

TEST_CASE("Experts that do not divide evenly are planned for the ranks with the most and the fewest") {
  const MoeShape shape = shape_of(2048, 1408, 60);
  const auto problems = warmup::problems_of(shape, {.expert = 8}, {Layout::masked});
  REQUIRE(problems);
  const std::vector<Problem> expected{
      {DataType::bf16, Layout::masked, 2816, 2048, 8},
      {DataType::bf16, Layout::masked, 2048, 1408, 8},
      {DataType::bf16, Layout::masked, 2816, 2048, 7},
      {DataType::bf16, Layout::masked, 2048, 1408, 7},
  };
  CHECK(*problems == expected);
}

TEST_CASE("Redundant experts are distributed with the others, and each rank also has the fused shared experts") {
  const MoeShape shape = shape_of(7168, 2048, 256);
  const auto groups = [&](const warmup::Parallelism& parallelism) {
    const auto problems = warmup::problems_of(shape, parallelism, {Layout::masked});
    REQUIRE(problems);
    std::vector<std::int32_t> found;
    for (const Problem& problem : *problems) {
      if (problem.k == 7168) found.push_back(problem.groups);
    }
    return found;
  };
  CHECK(groups({.expert = 8, .redundant = 32}) == std::vector{36});
  CHECK(groups({.expert = 8, .redundant = 4}) == std::vector{33, 32});
  CHECK(groups({.expert = 8, .fused_shared = 1}) == std::vector{33});
  CHECK(groups({.expert = 32, .redundant = 32, .fused_shared = 1}) == std::vector{10});
}

TEST_CASE("The padded hidden size is K of the first GEMM and N of the second") {
  const auto problems =
      warmup::problems_of(shape_of(2880, 2880, 128), {.expert = 8, .padded_hidden = 3072}, {Layout::masked});
  REQUIRE(problems);
  const std::vector<Problem> expected{{DataType::bf16, Layout::masked, 5760, 3072, 16},
                                      {DataType::bf16, Layout::masked, 3072, 2880, 16}};
  CHECK(*problems == expected);
}

TEST_CASE("An expert width that gives an invalid N or K per rank is refused with width, ranks and result") {
  const auto message = [](std::int64_t width, std::int64_t ranks) {
    const auto problems = warmup::problems_of(shape_of(2048, width, 8), {1, ranks}, {Layout::masked});
    REQUIRE_FALSE(problems);
    CHECK(problems.error().code == ErrorCode::unsupported);
    CHECK(problems.error().message.find('\n') == std::string::npos);
    return problems.error().message;
  };
  CHECK_THAT(message(512, 512), StartsWith("expert width 512 over --tp 512 gives N = 2: N must be a multiple of 8"));
  CHECK_THAT(message(14336, 256),
             StartsWith("expert width 14336 over --tp 256 gives K = 56: K must be a multiple of 64"));
  CHECK_THAT(message(100, 1), StartsWith("expert width 100 over --tp 1 gives K = 100: K must be a multiple of 64"));
  CHECK(warmup::problems_of(shape_of(2048, 512, 8), {1, 8}, {Layout::masked}));
}

TEST_CASE("An expert width that FP8 kernels do not support is refused with the width to pad it to") {
  const auto message = [](std::int64_t width, std::int64_t ranks, const std::vector<DataType>& types) {
    const auto problems = warmup::problems_of(shape_of(2048, width, 8), {1, ranks}, {Layout::masked}, types);
    REQUIRE_FALSE(problems);
    CHECK(problems.error().code == ErrorCode::unsupported);
    return problems.error().message;
  };
  CHECK(message(1536, 8, {DataType::fp8}) ==
        "expert width 1536 over --tp 8 gives K = 192: K must be a multiple of 128 for FP8: K=192; pad the expert width "
        "to 256 per rank");
  CHECK(message(1536, 8, {DataType::bf16, DataType::fp8}) == message(1536, 8, {DataType::fp8}));
  CHECK(message(704, 1, {DataType::fp8}).find("to 768 per rank") != std::string::npos);
  CHECK(message(2, 1, {DataType::fp8}).find("to 128 per rank") != std::string::npos);
  CHECK(message(100, 1, {DataType::bf16}).find("to 128 per rank") != std::string::npos);
  // Twice the next multiple would be an N beyond the limit.
  CHECK(message((std::int64_t{1} << 30) - 64, 1, {DataType::fp8}).find("; pad") == std::string::npos);
  CHECK(warmup::problems_of(shape_of(2048, 1536, 8), {1, 8}, {Layout::masked}, {DataType::bf16}));
}

TEST_CASE("The padded width that a refusal names is accepted") {
  for (const DataType type : {DataType::bf16, DataType::fp8}) {
    for (std::int64_t width = 1; width <= 1024; ++width) {
      const auto padded = warmup::padded_size(type, width);
      REQUIRE(padded);
      const std::int64_t step = type == DataType::fp8 ? 128 : 64;
      REQUIRE(*padded == (width + step - 1) / step * step);
      REQUIRE(warmup::problems_of(shape_of(2048, *padded, 8), {1, 1}, {Layout::masked}, {type}));
    }
  }
  CHECK_FALSE(warmup::padded_size(DataType::fp8, std::int64_t{1} << 31));
}

TEST_CASE("The refusal of a width that is too large does not advise padding") {
  const auto problems =
      warmup::problems_of(shape_of(2048, std::int64_t{1} << 30, 8), {1, 1}, {Layout::masked}, {DataType::fp8});
  REQUIRE_FALSE(problems);
  CHECK(problems.error().message.find("; pad") == std::string::npos);
}
