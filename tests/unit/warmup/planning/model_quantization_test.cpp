// Tests of the data type that follows from a config.json.
#include <fstream>

#include "catch.hpp"
#include "unit/util/temp_folder.hpp"
#include "warmup/planning/model.hpp"

namespace {

using namespace cubinet;
using Catch::Matchers::Contains;
using warmup::ExpertWeights;

const std::string small_experts = R"("num_experts": 8, "moe_intermediate_size": 128, "hidden_size": 128)";
const std::string fp8 = R"({"quant_method": "fp8", "weight_block_size": [128, 128]})";
const std::vector<DataType> only_fp8{DataType::fp8};
const std::vector<DataType> only_bf16{DataType::bf16};

// The weights of a model with these additional keys.
ExpertWeights weights_of(const std::string& more) {
  const auto shape = warmup::parse_model({"{" + small_experts + (more.empty() ? "" : ", ") + more + "}", "m.json"});
  INFO((shape ? std::string() : shape.error().message));
  REQUIRE(shape);
  return shape->weights;
}

ExpertWeights quantized(const std::string& config) { return weights_of(R"("quantization_config": )" + config); }

// A quantization_config of compressed-tensors with these weights, and with more.
std::string compressed(const std::string& weights, const std::string& more = "") {
  return R"({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"targets": ["Linear"], "weights": )" +
         weights + "}}" + more + "}";
}

const std::string blocks = R"({"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [128, 128]})";

// FP8 without these modules.
std::string without(const std::string& key, const std::string& modules) {
  return R"({"quant_method": "fp8", "weight_block_size": [128, 128], ")" + key + "\": " + modules + "}";
}

void check_served(const ExpertWeights& weights) {
  INFO(weights.stored << " " << weights.reason);
  CHECK((weights.types == only_fp8));
  CHECK(weights.stored == "FP8 in blocks of 128 x 128");
  CHECK(weights.served);
}

// Checks that BF16 is planned and that the stored type is `stored`.
void check_unserved(const ExpertWeights& weights, const std::string& stored) {
  INFO(weights.reason);
  CHECK((weights.types == only_bf16));
  CHECK(weights.stored == stored);
  CHECK_FALSE(weights.served);
}

void check_plain(const ExpertWeights& weights) {
  INFO(weights.stored << " " << weights.reason);
  CHECK((weights.types == only_bf16));
  CHECK(weights.stored.empty());
  CHECK(weights.served);
}

}  // namespace

TEST_CASE("FP8 in blocks of 128 x 128 is recognized in the format of each quantizer") {
  check_served(quantized(fp8));
  CHECK(quantized(fp8).reason == "quantization_config.quant_method fp8, weight_block_size [128,128]");
  check_served(quantized(compressed(blocks)));
  check_served(quantized(R"({"quant_method": "modelopt", "quant_algo": "FP8_PB_WO"})"));
  check_served(quantized(R"({"quant_algo": "fp8_pb_wo"})"));
  check_served(weights_of(R"("compression_config": )" + compressed(blocks)));
}

TEST_CASE("A type that no kernel supports is named, and BF16 is planned") {
  check_unserved(quantized(R"({"quant_method": "fp8"})"), "FP8 with a scale per tensor");
  check_unserved(quantized(R"({"quant_method": "fp8", "weight_block_size": null})"), "FP8 with a scale per tensor");
  check_unserved(quantized(R"({"quant_method": "fp8", "weight_block_size": [64, 128]})"), "FP8 in blocks of [64,128]");
  check_unserved(quantized(R"({"quant_method": "fp8", "weight_block_size": [[128], [128]]})"),
                 "FP8 in blocks of a nested array");
  check_unserved(quantized(R"({"quant_method": "mxfp4"})"), "MXFP4");
  check_unserved(quantized(R"({"quant_method": "awq", "bits": 4})"), "INT4 (AWQ)");
  check_unserved(quantized(R"({"quant_method": "gptq", "bits": 4})"), "integers (GPTQ)");
  check_unserved(quantized(R"({"quant_method": "modelopt", "quant_algo": "FP8"})"), "FP8 with a scale per tensor");
  check_unserved(quantized(R"({"quant_method": "modelopt_fp4", "quant_algo": "NVFP4"})"), "NVFP4");
  check_unserved(quantized(R"({"quant_method": "a_new_one"})"), "a_new_one");
  for (const char* unnamed : {R"({"weight_block_size": [128, 128]})", R"({"quant_method": null, "bits": 8})",
                              R"({"quant_method": "", "weight_block_size": [128, 128]})"}) {
    check_unserved(quantized(unnamed), "an unnamed method");
  }
  check_unserved(weights_of(R"("torch_dtype": "float16")"), "FP16");
}

TEST_CASE("Groups of compressed-tensors are read by bits, type and strategy") {
  const auto group = [](const char* bits, const char* type, const char* strategy) {
    return compressed(std::string(R"({"num_bits": )") + bits + R"(, "type": ")" + type + R"(", "strategy": ")" +
                      strategy + "\"}");
  };
  check_unserved(quantized(group("8", "float", "tensor")), "FP8 with a scale per tensor");
  check_unserved(quantized(group("8", "float", "channel")), "FP8 with a scale per channel");
  check_unserved(quantized(group("4", "int", "group")), "INT4 with a scale per group");
  check_unserved(quantized(group("8", "int", "channel")), "INT8 with a scale per channel");
  check_unserved(quantized(group("4", "float", "tensor_group")), "FP4 with a scale per tensor_group");
  check_unserved(quantized(group("8", "float", "block")), "FP8 in blocks");
  check_unserved(quantized(compressed(R"({"num_bits": 4, "type": "float", "strategy": "tensor_group"})",
                                      R"(, "format": "nvfp4-pack-quantized")")),
                 "NVFP4");
  check_unserved(quantized(R"({"quant_method": "compressed-tensors"})"), "compressed-tensors");
}

TEST_CASE("The group that targets the experts is used, and different groups for all layers are not resolved") {
  const auto groups = [](const char* target) {
    return R"({"quant_method": "compressed-tensors", "config_groups": {
               "group_0": {"targets": ["re:.*proj.*"], "weights": {"num_bits": 8, "type": "float",
                                                                         "strategy": "channel"}},
               "group_1": {"targets": [")" +
           std::string(target) + R"("], "weights": )" + blocks + "}}}";
  };
  check_served(quantized(groups("re:.*mlp\\\\.experts.*")));
  check_unserved(quantized(groups("Linear")), "several types");
}

TEST_CASE("The experts' own type takes precedence over the model's") {
  check_unserved(weights_of(R"("expert_dtype": "fp4", "quantization_config": )" + fp8), "FP4");
  check_served(weights_of(R"("expert_dtype": "fp8", "quantization_config": )" + fp8));
  check_plain(weights_of(R"("expert_dtype": "bf16", "quantization_config": )" + fp8));
  check_unserved(quantized(R"({"quant_method": "fp8", "weight_block_size": [128, 128], "expert_dtype": "fp4"})"),
                 "FP4");
  check_unserved(quantized(R"({"quant_method": "fp8", "weight_block_size": [128, 128], "quant_algo": "MIXED_PRECISION",
                               "moe_quant_algo": "NVFP4"})"),
                 "NVFP4");
}

TEST_CASE("The type of a model with mixed precision is that of its experts' layers") {
  const auto mixed = [](const char* algorithm) {
    return R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {
               "model.layers.0.self_attn.q_proj": {"quant_algo": "FP8"},
               "model.layers.0.mlp.shared_experts.up_proj": {"quant_algo": "FP8"},
               "model.layers.0.mlp.experts": {"quant_algo": "NVFP4"},
               "model.layers.1.mlp.experts": {"quant_algo": ")" +
           std::string(algorithm) + "\"}}}";
  };
  check_unserved(quantized(mixed("NVFP4")), "NVFP4");
  check_unserved(quantized(mixed("FP8")), "mixed types");
}

TEST_CASE("Experts that are excluded from quantization are BF16, in all layers or in some") {
  check_plain(quantized(without("modules_to_not_convert", R"(["lm_head", "mlp.experts"])")));
  check_plain(quantized(without("ignored_layers", R"(["re:.*mlp\\.experts.*"])")));
  check_plain(quantized(compressed(blocks, R"(, "ignore": ["re:.*experts.*"])")));
  check_plain(quantized(R"({"quant_algo": "FP8_PB_WO", "exclude_modules": ["*.mlp.experts*"]})"));
  check_served(quantized(without("modules_to_not_convert", R"(["lm_head", "mlp.gate", "mlp.shared_experts", 7])")));
  const ExpertWeights some = quantized(without("modules_to_not_convert", R"(["model.layers.61.mlp.experts"])"));
  CHECK((some.types == std::vector{DataType::fp8, DataType::bf16}));
  CHECK_THAT(some.reason, Contains("BF16 in some layers: quantization_config.modules_to_not_convert"));
}

TEST_CASE("A quantization of the KV cache alone does not apply to the experts") {
  check_plain(quantized(R"({"quant_method": "modelopt", "quant_algo": null, "kv_cache_quant_algo": "FP8"})"));
  check_plain(quantized(R"({"quant_algo": null, "kv_cache_quant_algo": "FP8"})"));
  check_unserved(quantized(R"({"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"})"), "NVFP4");
}

TEST_CASE("A quantization group for attention does not apply to the experts") {
  check_served(quantized(R"({"quant_method": "compressed-tensors", "config_groups": {
      "attention": {"targets": ["re:.*self_attn.*"], "weights": {"num_bits": 8, "type": "float", "strategy": "channel"}},
      "mlp": {"targets": ["re:.*mlp.*_proj"], "weights": )" +
                         blocks + "}}}"));
}

TEST_CASE("Experts in FP8 with an unknown kind of scales are planned in BF16, and the type is named") {
  check_unserved(weights_of(R"("expert_dtype": "fp8")"), "fp8 with unknown scales");
}

TEST_CASE("An exclusion pattern for everything but the experts does not exclude experts") {
  CHECK(quantized(compressed(R"({"num_bits": 4, "type": "float", "strategy": "group"})",
                             R"(, "format": "mxfp4-pack-quantized", "ignore": ["re:^(?!.*experts).*$"])"))
            .stored == "MXFP4");
  check_served(quantized(without("ignored_layers", R"(["re:(?!.*experts).*Linear"])")));
  check_plain(quantized(without("ignored_layers", R"(["re:.*(?!gate).*experts.*"])")));
}

TEST_CASE("Experts of a layer or MLP that is excluded from quantization are BF16") {
  const auto without_module = [](const std::string& module) { return without("ignore", "[\"" + module + "\"]"); };
  for (const char* module :
       {"model.layers.61", "model.layers.61*", "model.layers.61.", "re:^model\\\\.layers\\\\.61\\\\..*$",
        "model.layers.61.mlp", "mtp*", "re:.*mtp.*", "model.mtp"}) {
    INFO(module);
    const ExpertWeights some = quantized(without_module(module));
    CHECK((some.types == std::vector{DataType::fp8, DataType::bf16}));
  }
  for (const char* module : {"mlp", "re:.*mlp.*", "model.layers.*.mlp", "block_sparse_moe"}) {
    INFO(module);
    check_plain(quantized(without_module(module)));
  }
  for (const char* module :
       {"model.layers.0.self_attn*", "mtp.fc", "model.layers.0.mlp.gate", "re:.*mlp.gate$", "projector.mlp",
        "model.layers.0.self_attn.0", "connector.mlp.0", "vision_tower.encoder.layers.0", "model.visual.blocks.0.mlp",
        "re:.*mlp\\\\.(gate|up)_proj.*"}) {
    INFO(module);
    check_served(quantized(without_module(module)));
  }
}

TEST_CASE("A model without quantization is BF16") {
  check_plain(weights_of(""));
  CHECK(weights_of("").reason == "no quantization_config");
  check_plain(weights_of(R"("quantization_config": {}, "dtype": "bfloat16")"));
}

TEST_CASE("quantization_config is read next to the experts and at the top level, and a conflict is refused") {
  const auto model = [](const std::string& top, const std::string& nested) {
    const auto field = [](const std::string& value) {
      return value.empty() ? std::string() : R"("quantization_config": )" + value + ", ";
    };
    return "{" + field(top) + R"("text_config": {)" + field(nested) + small_experts + "}}";
  };
  for (const auto& [top, nested] :
       std::vector<std::pair<std::string, std::string>>{{fp8, ""}, {"", fp8}, {fp8, fp8}, {fp8, "{}"}, {"null", fp8}}) {
    INFO(top << " and " << nested);
    const auto shape = warmup::parse_model({model(top, nested), "m.json"});
    REQUIRE(shape);
    check_served(shape->weights);
  }
  const auto clash = warmup::parse_model({model(R"({"quant_method": "awq"})", fp8), "m.json"});
  REQUIRE_FALSE(clash);
  CHECK(clash.error().message ==
        "m.json: text_config.quantization_config is FP8 in blocks of 128 x 128 but quantization_config is INT4 (AWQ)");
}

TEST_CASE("The quantization in hf_quant_config.json is used if config.json has none") {
  const test::TempFolder folder;
  const auto write = [&](const char* name, const std::string& text) { std::ofstream(folder / name) << text; };
  const auto read = [&](const std::filesystem::path& path) {
    const auto shape = warmup::read_model(path);
    INFO((shape ? std::string() : shape.error().message));
    REQUIRE(shape);
    return shape->weights;
  };
  write("config.json", "{" + small_experts + "}");
  check_plain(read(folder.path()));
  write("hf_quant_config.json", R"({"producer": {"name": "modelopt"},
        "quantization": {"quant_algo": "NVFP4", "group_size": 16, "exclude_modules": ["lm_head"]}})");
  for (const auto& path : {folder.path(), folder / "config.json"}) check_unserved(read(path), "NVFP4");
  write("config.json", "{" + small_experts + R"(, "quantization_config": )" + fp8 + "}");
  check_served(read(folder.path()));
  write("hf_quant_config.json", "{");
  const auto broken = warmup::read_model(folder.path());
  REQUIRE_FALSE(broken);
  CHECK_THAT(broken.error().message, Contains("hf_quant_config.json:1:"));
}
