#include "jit/kernel_spec.hpp"
#include "jit/families/registry.hpp"
#include "jit/sm90/grouped_gemm.hpp"
#include "jit/target.hpp"

#include <algorithm>

#include "catch.hpp"
#include "unit/util/failing_memory.hpp"

using namespace cubinet;

namespace {

constexpr jit::sm90::TileConfig kGoldenConfig{.block_tokens = 256,
                                              .token_step = 32,
                                              .block_columns = 128,
                                              .stages = 4,
                                              .cluster = 2,
                                              .raster_band = 8,
                                              .largest_first = true};

jit::KernelSpec golden_spec() {
  return jit::sm90::spec_for({DataType::bf16, Layout::masked, 4096, 7168, 1}, kGoldenConfig);
}

constexpr const char* kGoldenSource =
    "namespace cubinet::constants {\n"
    "constexpr long long kN = 4096;\n"
    "constexpr long long kK = 7168;\n"
    "constexpr int kBlockTokens = 256;\n"
    "constexpr int kTokenStep = 32;\n"
    "constexpr int kBlockColumns = 128;\n"
    "constexpr int kStages = 4;\n"
    "constexpr int kCluster = 2;\n"
    "constexpr int kRasterBand = 8;\n"
    "constexpr bool kLargestFirst = true;\n"
    "constexpr bool kPrefetchWeights = false;\n"
    "constexpr bool kTokensOnM = false;\n"
    "}  // namespace cubinet::constants\n"
    "#include \"bf16_grouped_masked.cuh\"\n";

// The digests were made with sha256sum over kGoldenSource, over the template "// golden\n" and over the record.
constexpr const char* kGoldenRecord =
    R"({"architecture":"sm_90a","constants":{"kBlockColumns":128,"kBlockTokens":256,"kCluster":2,"kK":7168,)"
    R"("kLargestFirst":true,"kN":4096,"kPrefetchWeights":false,"kRasterBand":8,"kStages":4,"kTokenStep":32,)"
    R"("kTokensOnM":false},)"
    R"("family":"bf16_grouped_masked",)"
    R"("options":["--gpu-architecture=sm_90a","--minimal","--no-source-include","--std=c++17"],)"
    R"("source":"a073bde4390b6aa803a48060bed8d0325de5cf94e7cf8f8e0df4bbdacca3ca2a",)"
    R"("templates":{"bf16_grouped_masked.cuh":"1a82b5e96a337cf2d80da9736a70895bd0aaf0e8f1ccfcc8af523b22d6ffefa8"}})";
constexpr const char* kGoldenKey = "0b20ff15512343e89ef39fac51c93c9eaed1bd9a82b1bf61982edcb227021fab";

std::vector<jit::TemplateFile> golden_files() {
  return {jit::make_template_file("bf16_grouped_masked.cuh", "// golden\n")};
}

}  // namespace

TEST_CASE("The source of a specialization is its constants and an include") {
  CHECK(jit::source_of(golden_spec()) == kGoldenSource);
}

TEST_CASE("The record and the key of a known specialization never change") {
  CHECK(jit::record_of(golden_spec(), golden_files()) == kGoldenRecord);
  CHECK(jit::key_of(kGoldenRecord).hex() == kGoldenKey);
}

TEST_CASE("Running out of memory while writing a record throws an exception and does not end the process") {
  if (!test::memory_can_fail) CUBINET_SKIP(test::no_failing_memory);
  const auto spec = golden_spec();
  const auto files = golden_files();
  CHECK(test::failures_for_want_of_memory([&] { static_cast<void>(jit::record_of(spec, files)); }) > 3);
}

TEST_CASE("A specialization does not depend on groups, and its family depends on the layout") {
  Problem problem{.layout = Layout::masked, .n = 4096, .k = 7168, .groups = 8};
  const auto eight = jit::sm90::spec_for(problem, kGoldenConfig);
  CHECK(eight == golden_spec());
  problem.groups = 256;
  CHECK(jit::sm90::spec_for(problem, kGoldenConfig) == eight);
  problem.layout = Layout::contiguous;
  CHECK(jit::sm90::spec_for(problem, kGoldenConfig).family_name() == "bf16_grouped_contiguous");
}

TEST_CASE("The verification and quantization families have no constants") {
  for (const auto& spec :
       {jit::families().verification("sm_90a")->spec(), jit::families().quantization("sm_90a")->spec()}) {
    INFO(spec.family_name());
    CHECK(spec.constants.empty());
    CHECK(jit::source_of(spec) == "#include \"" + spec.family_name() + ".cuh\"\n");
    const std::string record = jit::record_of(spec);
    CHECK(record.find(R"("constants":{},"family":")" + spec.family_name() + '"') != std::string::npos);
  }
  CHECK(jit::families().verification("sm_90a")->spec().family_name() == "verification");
  CHECK(jit::families().quantization("sm_90a")->spec().family_name() == "fp8_quantization");
  CHECK_FALSE(golden_spec().constants.empty());
}

TEST_CASE("A specialization is described by its constants, or by its family if it has none") {
  const std::string config = jit::sm90::name(kGoldenConfig);
  CHECK(golden_spec().config == config);
  CHECK(jit::describe(golden_spec()) == "bf16_grouped_masked N=4096 K=7168 " + config);
  CHECK(jit::families().quantization("sm_90a")->spec().config.empty());
  CHECK(jit::describe(jit::families().quantization("sm_90a")->spec()) == "fp8_quantization");
}

TEST_CASE("Only the listed architectures are accepted, and the refusal names them") {
  CHECK(jit::check_architecture("sm_90a"));
  for (const char* name : {"sm_90", "sm_90A", "sm_90a ", "sm_100a", "compute_90a", ""}) {
    const auto checked = jit::check_architecture(name);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == ErrorCode::unsupported);
    CHECK(checked.error().message.find("are: sm_90a") != std::string::npos);
  }
}

TEST_CASE("The compiler options in the record are sorted and contain no path") {
  const auto options = jit::code_options(golden_spec());
  CHECK(std::is_sorted(options.begin(), options.end()));
  for (const std::string& option : options) CHECK(option.find('/') == std::string::npos);
}

TEST_CASE("A kernel of any family is read back from its record") {
  const jit::KernelSpec scaled = jit::sm90::spec_for({DataType::fp8, Layout::contiguous, 4096, 7168, 1}, kGoldenConfig);
  const jit::KernelSpec generic = jit::families().generic({DataType::bf16, Layout::masked, 128, 128, 1});
  for (const auto& spec : {golden_spec(), scaled, generic, jit::families().verification("sm_90a")->spec(),
                           jit::families().quantization("sm_90a")->spec()}) {
    const auto read = jit::families().spec_of(jit::record_of(spec));
    REQUIRE(read);
    CHECK(*read == spec);
  }
}

TEST_CASE("A constant missing in a record has its default, and an unknown one is ignored") {
  const auto read = jit::families().spec_of(
      R"({"architecture":"sm_90a","constants":{"kN":128,"kNew":7,"kStages":3},"family":"bf16_grouped_masked"})");
  REQUIRE(read);
  CHECK(read->n == 128);
  CHECK(read->k == 0);
  CHECK(jit::sm90::config_of(*read).stages == 3);
  CHECK(jit::sm90::config_of(*read).cluster == jit::sm90::TileConfig().cluster);
}

TEST_CASE("A text that is not a record of this build's families is refused") {
  const std::string start = R"({"architecture":"sm_90a","family":"bf16_grouped_masked","constants":)";
  CHECK(jit::families().spec_of(start + "{}}"));
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("noise"), std::string(100'000, '['), start + "[]}",
        start + R"({"kStages":"4"}})", start + R"({"kStages":4.5}})", start + R"({"kStages":2147483648}})",
        start + R"({"kN":9223372036854775808}})", start + R"({"kN":18446744073709551615}})",
        start + R"({"kTokensOnM":1}})", std::string(R"({"architecture":"sm_90a","constants":{},"family":"other"})"),
        std::string(R"({"architecture":7,"constants":{},"family":"bf16_grouped_masked"})"),
        std::string(R"({"architecture":"sm_90a","family":"bf16_grouped_masked"})")}) {
    INFO(text.substr(0, 200));
    CHECK_FALSE(jit::families().spec_of(text));
  }
}
