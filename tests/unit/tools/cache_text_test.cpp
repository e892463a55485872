// Tests of the texts of coverage records.
#include "tools/cache_text.hpp"

#include "catch.hpp"
#include "tools/output.hpp"

namespace {

using namespace cubinet;
using tools::count_text;
using tools::target_text;

constexpr auto type_bf16 = DataType::bf16;
constexpr auto type_fp8 = DataType::fp8;
constexpr auto contiguous = Layout::contiguous;
constexpr auto masked = Layout::masked;

warmup::CoverageRecord on(const std::string& architecture, std::int32_t num_sms) {
  warmup::CoverageRecord record;
  record.subject.architecture = architecture;
  record.subject.num_sms = num_sms;
  return record;
}

// Problems with the same range of M.
std::string problems_text(const std::vector<Problem>& problems) {
  return tools::problems_text(warmup::over_range(problems, {1, 8}));
}

}  // namespace

TEST_CASE("Problems are named by type, layout, N x K and groups, and a shared type and layout is printed once") {
  CHECK(problems_text({{type_fp8, masked, 4096, 7168, 1}}) == "fp8 masked 4096 x 7168 in 1 group");
  CHECK(problems_text({{type_bf16, contiguous, 1024, 2048, 32},
                       {type_bf16, contiguous, 2048, 512, 32},
                       {type_bf16, masked, 8, 64, 2}}) ==
        "bf16 contiguous 1024 x 2048 in 32 groups, 2048 x 512 in 32 groups, bf16 masked 8 x 64 in 2 groups");
}

TEST_CASE("Of many problems the first four are named, and the number of the others") {
  std::vector<Problem> problems(4, {type_bf16, masked, 128, 128, 2});
  const std::string four = problems_text(problems);
  CHECK(four.find("more") == std::string::npos);
  problems.push_back({type_fp8, masked, 256, 128, 2});
  CHECK(problems_text(problems) == four + " and 1 more");
  problems.resize(64, {type_fp8, masked, 256, 128, 2});
  CHECK(problems_text(problems) == four + " and 60 more");
}

TEST_CASE("Problems without sizes are the generic kernels of their types and layouts") {
  CHECK(problems_text({{type_bf16, contiguous}, {type_bf16, masked}, {type_fp8, contiguous}, {type_fp8, masked}}) ==
        "the generic kernels (bf16 contiguous, bf16 masked, fp8 contiguous, fp8 masked)");
  CHECK(problems_text({{type_fp8, masked}}) == "the generic kernels (fp8 masked)");
}

TEST_CASE("Each problem is printed with its range of M if the ranges differ") {
  const Problem one{type_bf16, masked, 8, 64, 2};
  const Problem other{type_bf16, contiguous, 8, 64, 2};
  const std::vector<ProblemRange> alike{{one, {1, 8}}, {other, {1, 8}}};
  CHECK(tools::range_text(alike) == "1 to 8");
  const std::vector<ProblemRange> different{{one, {1, 8}}, {other, {1, 512}}};
  CHECK(tools::range_text(different) == "by problem");
  CHECK(tools::problems_text(different) ==
        "bf16 masked 8 x 64 in 2 groups (M 1 to 8), bf16 contiguous 8 x 64 in 2 groups (M 1 to 512)");
}

TEST_CASE("The number of SMs is printed only if records differ in it") {
  const auto h100 = on("sm_90a", 132);
  const auto h20 = on("sm_90a", 78);
  CHECK(target_text(h100, {h100, h100}) == "sm_90a");
  CHECK(target_text(h100, {h100, h20}) == "sm_90a with 132 SMs");
  CHECK(target_text(h20, {h100, h20}) == "sm_90a with 78 SMs");
}

TEST_CASE("A count is followed by its noun in the singular or the plural") {
  CHECK(count_text(1, "kernel") == "1 kernel");
  CHECK(count_text(0, "kernel") == "0 kernels");
  CHECK(count_text(1, "entry") == "1 entry");
  CHECK(count_text(2, "entry") == "2 entries");
}
