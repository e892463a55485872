#include "jit/kernel_spec.hpp"

#include <algorithm>

#include "catch.hpp"
#include "unit/util/failing_memory.hpp"

using namespace cubinet;

namespace {

jit::KernelSpec golden_spec() {
  jit::TileConfig config;
  config.block_tokens = 256;
  config.token_step = 32;
  config.block_columns = 128;
  config.stages = 4;
  config.cluster = 2;
  config.raster_band = 8;
  config.largest_first = true;
  return {"bf16_grouped_masked", 4096, 7168, config, "sm_90a"};
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

TEST_CASE("Memory that runs out while a record is written is an exception, and ends no process") {
  const auto spec = golden_spec();
  const auto files = golden_files();
  CHECK(test::failures_for_want_of_memory([&] { static_cast<void>(jit::record_of(spec, files)); }) > 3);
}

TEST_CASE("Groups are no part of a specialization, and the layout chooses the family") {
  Problem problem{.layout = Layout::masked, .n = 4096, .k = 7168, .groups = 8};
  const auto config = golden_spec().config;
  const auto eight = jit::spec_for(problem, config, "sm_90a");
  CHECK(eight == golden_spec());
  problem.groups = 256;
  CHECK(jit::spec_for(problem, config, "sm_90a") == eight);
  problem.layout = Layout::contiguous;
  CHECK(jit::spec_for(problem, config, "sm_90a").family == "bf16_grouped_contiguous");
}

TEST_CASE("The families that check others and that quantise take no constants") {
  for (const auto& spec : {jit::verification_spec("sm_90a"), jit::quantization_spec("sm_90a")}) {
    INFO(spec.family);
    CHECK_FALSE(jit::takes_constants(spec));
    CHECK(jit::source_of(spec) == "#include \"" + spec.family + ".cuh\"\n");
    const std::string record = jit::record_of(spec);
    CHECK(record.find(R"("constants":{},"family":")" + spec.family + '"') != std::string::npos);
  }
  CHECK(jit::verification_spec("sm_90a").family == "verification");
  CHECK(jit::quantization_spec("sm_90a").family == "fp8_quantization");
  CHECK(jit::takes_constants(golden_spec()));
}

TEST_CASE("A specialization is described by its constants, and one without any by its family") {
  const std::string config = jit::name(golden_spec().config);
  CHECK(jit::config_name(golden_spec()) == config);
  CHECK(jit::describe(golden_spec()) == "bf16_grouped_masked N=4096 K=7168 " + config);
  CHECK(jit::config_name(jit::quantization_spec("sm_90a")).empty());
  CHECK(jit::describe(jit::quantization_spec("sm_90a")) == "fp8_quantization");
}

TEST_CASE("Architectures are an exact list, which the refusal names") {
  CHECK(jit::check_architecture("sm_90a"));
  for (const char* name : {"sm_90", "sm_90A", "sm_90a ", "sm_100a", "compute_90a", ""}) {
    const auto checked = jit::check_architecture(name);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == ErrorCode::unsupported);
    CHECK(checked.error().message.find("are: sm_90a") != std::string::npos);
  }
}

TEST_CASE("The options that shape the code are sorted and name no path") {
  const auto options = jit::code_options(golden_spec());
  CHECK(std::is_sorted(options.begin(), options.end()));
  for (const std::string& option : options) CHECK(option.find('/') == std::string::npos);
}

TEST_CASE("A kernel is read back from its record, whatever its family") {
  jit::KernelSpec scaled = golden_spec();
  scaled.family = "fp8_grouped_contiguous";
  scaled.config.scaled = true;
  const jit::KernelSpec generic = jit::generic_spec({DataType::bf16, Layout::masked, 128, 128, 1}, "sm_90a");
  for (const auto& spec :
       {golden_spec(), scaled, generic, jit::verification_spec("sm_90a"), jit::quantization_spec("sm_90a")}) {
    const auto read = jit::spec_of(jit::record_of(spec));
    REQUIRE(read);
    CHECK(*read == spec);
  }
}

TEST_CASE("A constant that a record lacks has its default, and one that is not known is passed over") {
  const auto read = jit::spec_of(
      R"({"architecture":"sm_90a","constants":{"kN":128,"kNew":7,"kStages":3},"family":"bf16_grouped_masked"})");
  REQUIRE(read);
  CHECK(read->n == 128);
  CHECK(read->k == 0);
  CHECK(read->config.stages == 3);
  CHECK(read->config.cluster == jit::TileConfig().cluster);
}

TEST_CASE("Nothing is read from a text that is no record of this build's families") {
  const std::string start = R"({"architecture":"sm_90a","family":"bf16_grouped_masked","constants":)";
  CHECK(jit::spec_of(start + "{}}"));
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("noise"), std::string(100'000, '['), start + "[]}",
        start + R"({"kStages":"4"}})", start + R"({"kStages":4.5}})", start + R"({"kStages":2147483648}})",
        start + R"({"kN":9223372036854775808}})", start + R"({"kN":18446744073709551615}})",
        start + R"({"kTokensOnM":1}})", std::string(R"({"architecture":"sm_90a","constants":{},"family":"other"})"),
        std::string(R"({"architecture":7,"constants":{},"family":"bf16_grouped_masked"})"),
        std::string(R"({"architecture":"sm_90a","family":"bf16_grouped_masked"})")}) {
    INFO(text.substr(0, 200));
    CHECK_FALSE(jit::spec_of(text));
  }
}
