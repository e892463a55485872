#include "warmup/planning/model.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "catch.hpp"
#include "model_shape.hpp"
#include "unit/util/temp_folder.hpp"

namespace {

using namespace cubinet;
using Catch::Matchers::StartsWith;
using test::message_of;
using test::parsed;
using warmup::MoeShape;
namespace fs = std::filesystem;

const fs::path models = fs::path(CUBINET_SOURCE_DIR) / "examples" / "models";

struct Expectation {
  std::int64_t hidden_size, expert_width, experts;
  DataType type;  // the type that is planned without --dtype
};

// From the models' cards.
const std::map<std::string, Expectation> expectations{
    {"deepseek-v3", {7168, 2048, 256, DataType::fp8}},        {"glm-4.5", {5120, 1536, 160, DataType::bf16}},
    {"gpt-oss-120b", {2880, 2880, 128, DataType::bf16}},      {"kimi-k2", {7168, 2048, 384, DataType::fp8}},
    {"minimax-m2", {3072, 1536, 256, DataType::fp8}},         {"mixtral-8x7b", {4096, 14336, 8, DataType::bf16}},
    {"qwen3-235b-a22b", {4096, 1536, 128, DataType::bf16}},   {"qwen3-30b-a3b", {2048, 768, 128, DataType::bf16}},
    {"qwen3-next-80b-a3b", {2048, 512, 512, DataType::bf16}}, {"qwen3.5-35b-a3b", {2048, 512, 256, DataType::bf16}},
};

}  // namespace

TEST_CASE("A field that is nested a hundred thousand deep is refused with a short message") {
  const std::size_t depth = 100'000;
  const std::string value = std::string(depth, '[') + std::string(depth, ']');
  const std::string start = R"({"num_experts": 8, "moe_intermediate_size": 64, "hidden_size": )";
  const auto shape = warmup::parse_model({start + value + "}", "m"});
  REQUIRE_FALSE(shape);
  CHECK(shape.error().message.find("m: hidden_size is a nested array, expected a whole number") == 0);
}

TEST_CASE("Every example model is read as its card says") {
  std::size_t seen = 0;
  for (const auto& folder : fs::directory_iterator(models)) {
    if (!folder.is_directory()) continue;
    const std::string name = folder.path().filename().string();
    if (name == "qwen3-8b-dense") continue;
    INFO(name);
    const auto expected = expectations.find(name);
    REQUIRE(expected != expectations.end());
    const auto shape = warmup::read_model(folder.path() / "config.json");
    REQUIRE(shape);
    REQUIRE(shape->layers.size() == 1);
    CHECK(shape->layers.front().hidden.value == expected->second.hidden_size);
    CHECK(shape->layers.front().width.value == expected->second.expert_width);
    CHECK(shape->layers.front().experts.value == expected->second.experts);
    CHECK((shape->weights.types == std::vector{expected->second.type}));
    CHECK(shape->weights.served);
    CHECK(shape->notes.empty());
    CHECK_FALSE(shape->model_type.empty());
    ++seen;
  }
  CHECK(seen == expectations.size());
}

TEST_CASE("A dense model is refused because it has no experts") {
  const auto shape = warmup::read_model(models / "qwen3-8b-dense" / "config.json");
  REQUIRE_FALSE(shape);
  CHECK(shape.error().code == ErrorCode::unsupported);
  CHECK(shape.error().message.find("has no experts") != std::string::npos);
  CHECK(shape.error().message.find("num_experts") != std::string::npos);
  CHECK(message_of(R"({"hidden_size": 64, "moe_intermediate_size": 64, "num_experts": 0})") ==
        "m.json: the model has no experts: num_experts is 0");
}

TEST_CASE("A field that is null counts as absent") {
  const MoeShape shape = parsed(
      R"({"hidden_size": 64, "intermediate_size": 128, "moe_intermediate_size": null, "n_routed_experts": null,
          "num_local_experts": 4})");
  CHECK(shape.layers.front().width.value == 128);
  CHECK(shape.layers.front().experts.value == 4);
}

TEST_CASE("Broken JSON is reported with file, line, column and what was expected") {
  const std::string message = message_of("{\n  \"hidden_size\": 64,\n  oops\n}\n");
  CHECK_THAT(message, StartsWith("m.json:3:3: not JSON: "));
  CHECK(message.find("expected string literal") != std::string::npos);
  CHECK_THAT(message_of(""), StartsWith("m.json:1:1: not JSON: "));
  CHECK_THAT(message_of("{\"a\": 1,\n"), StartsWith("m.json:2:1: not JSON: "));
  CHECK_THAT(message_of("[1, 2]"), StartsWith("m.json: expected a JSON object, found array"));
}

TEST_CASE("A number out of range is reported with its position and without the JSON library's text") {
  CHECK(message_of("{\n  \"hidden_size\": 1e400}") == "m.json:2:18: the number 1e400 is out of range");
  CHECK(message_of("{\"other\": [-1e400]}") == "m.json:1:12: the number -1e400 is out of range");
  const std::string long_number = message_of("{\"a\": 1" + std::string(100'000, '0') + "}");
  CHECK(long_number.size() < 300);
  CHECK_THAT(long_number, StartsWith("m.json:1:7: the number 1000"));
}

TEST_CASE("A long last token is shortened in the error") {
  CHECK(message_of("{\"a\": \"" + std::string(100'000, 'x')).size() < 300);
}

TEST_CASE("Anything but white space after the JSON value is refused with its position") {
  const std::string model = R"({"num_experts": 8, "moe_intermediate_size": 64, "hidden_size": 64})";
  CHECK(parsed(model + " \n\t\r\n").layers.front().experts.value == 8);
  for (const std::string& after : {std::string("{}"), std::string("x"), std::string("}"), std::string(1, '\0'),
                                   std::string("\0{}", 3), std::string("\0\n", 2)}) {
    const std::string message = message_of(model + "\n " + after);
    CHECK_THAT(message, StartsWith("m.json:2:2: not JSON: "));
    CHECK(message.find("expected end of input") != std::string::npos);
    CHECK(message.find('\n') == std::string::npos);
    CHECK(message.find('\0') == std::string::npos);
  }
  CHECK_THAT(message_of(std::string("{\"a\": 1,\0}", 10)), StartsWith("m.json:1:9: not JSON: "));
}

TEST_CASE("A duplicate field is refused by name, even if both values are equal") {
  const auto with = [](const std::string& more) {
    return R"({"num_experts": 8, "moe_intermediate_size": 64, "hidden_size": 64, )" + more + "}";
  };
  CHECK(message_of(with(R"("num_experts": 16)")) == "m.json: num_experts is given twice");
  CHECK(message_of(with(R"("hidden_size": 64)")) == "m.json: hidden_size is given twice");
  CHECK(message_of(with(R"("moe_intermediate_size": null)")) == "m.json: moe_intermediate_size is given twice");
  CHECK(message_of(with(R"("mlp_only_layers": [], "mlp_only_layers": [1])")) ==
        "m.json: mlp_only_layers is given twice");
  CHECK(message_of(R"({"text_config": {"num_experts": 8, "num_experts": 8}})") ==
        "m.json: text_config.num_experts is given twice");
  CHECK(message_of(R"({"text_config": {}, "text_config": {}})") == "m.json: text_config is given twice");
  CHECK(message_of(with(R"("quantization_config": {"quant_method": "a", "quant_method": "b"})")) ==
        "m.json: quantization_config.quant_method is given twice");
  CHECK(message_of(with(R"("quantization_config": {"weight_block_size": [128,128], "weight_block_size": null})")) ==
        "m.json: quantization_config.weight_block_size is given twice");
}

TEST_CASE("A duplicate key that is not a field of the language model is accepted") {
  const std::string model = R"("num_experts": 8, "moe_intermediate_size": 64, "hidden_size": 64)";
  for (const char* more : {R"("other": 1, "other": 2)", R"("vision_config": {"hidden_size": 1, "hidden_size": 2})",
                           R"("list": [{"hidden_size": 1}, {"hidden_size": 2}])",
                           R"("text_config": {"list": [{"num_experts": 1, "num_experts": 2}]})",
                           R"("text_config.hidden_size": 64, "text_config": {"hidden_size": 64})"}) {
    INFO(more);
    CHECK(parsed(std::string("{") + more + ", " + model + "}").layers.front().experts.value == 8);
    CHECK(parsed("{" + model + ", " + more + "}").layers.front().experts.value == 8);
  }
}

TEST_CASE("Deeply nested JSON is parsed or refused without a crash") {
  const std::string deep = "{\"a\": " + std::string(200'000, '[') + std::string(200'000, ']') + "}";
  CHECK(message_of(deep).find("has no experts") != std::string::npos);
  CHECK(message_of(std::string(200'000, '[')).find("not JSON") != std::string::npos);
}

TEST_CASE("A field of the wrong type or out of range is named with its value") {
  const auto with = [](const std::string& hidden_size) {
    return R"({"num_experts": 8, "moe_intermediate_size": 64, "hidden_size": )" + hidden_size + "}";
  };
  for (const char* value : {"\"2048\"", "-64", "0", "2048.5", "true", "[64]", "99999999999", "18446744073709551615",
                            "18446744073709551616"}) {
    INFO(value);
    const std::string message = message_of(with(value));
    CHECK_THAT(message, StartsWith("m.json: hidden_size is "));
    CHECK(message.find("expected a whole number from 1 to ") != std::string::npos);
  }
  CHECK(parsed(with("2048")).layers.front().hidden.value == 2048);
  CHECK_THAT(message_of(R"({"num_experts": -8})"), StartsWith("m.json: num_experts is -8"));
  CHECK_THAT(message_of(R"({"num_experts": 8, "moe_intermediate_size": 64})"),
             StartsWith("m.json: hidden_size is missing"));
  CHECK_THAT(message_of(R"({"num_experts": 8, "hidden_size": 64})"),
             StartsWith("m.json: neither moe_intermediate_size nor intermediate_size is there"));
}

TEST_CASE("Two different numbers of experts are an error, and two equal ones are not") {
  const auto with = [](int second) {
    return R"({"hidden_size": 64, "moe_intermediate_size": 64, "n_routed_experts": 8, "num_local_experts": )" +
           std::to_string(second) + "}";
  };
  CHECK(message_of(with(16)) == "m.json: n_routed_experts is 8 but num_local_experts is 16");
  CHECK(parsed(with(8)).layers.front().experts.value == 8);
}

TEST_CASE("A model with n_routed_experts or num_experts must have moe_intermediate_size") {
  for (const char* experts :
       {R"("num_experts": 8)", R"("n_routed_experts": 8)", R"("num_local_experts": 8, "num_experts": 8)"}) {
    for (const char* width : {"", R"(, "moe_intermediate_size": null)"}) {
      INFO(experts << width);
      const std::string model = std::string(R"({"hidden_size": 64, "intermediate_size": 256, )") + experts + width;
      for (const std::string& text : {model + "}", R"({"text_config": )" + model + "}}"}) {
        const std::string message = message_of(text);
        CHECK_THAT(message, StartsWith("m.json: moe_intermediate_size is missing, and intermediate_size cannot stand"));
        CHECK(message.find("experts") != std::string::npos);
      }
    }
  }
  CHECK(parsed(R"({"hidden_size": 64, "intermediate_size": 256, "num_local_experts": 8, "num_experts": null})")
            .layers.front()
            .width.value == 256);
}

TEST_CASE("The width of dense layers is not used as the width of the experts") {
  for (const char* sign : {R"("first_k_dense_replace": 3)", R"("mlp_only_layers": [0, 1])",
                           R"("decoder_sparse_step": 2)", R"("moe_layer_freq": 2)", R"("moe_layer_freq": [0, 1, 1])",
                           R"("first_k_dense_replace": "3")", R"("first_k_dense_replace": 1.5)",
                           R"("first_k_dense_replace": 18446744073709551615)", R"("mlp_only_layers": 3)"}) {
    INFO(sign);
    const std::string message = message_of(
        std::string(R"({"num_local_experts": 8, "hidden_size": 64, "intermediate_size": 256, )") + sign + "}");
    CHECK(message.find("moe_intermediate_size is missing") != std::string::npos);
    const std::string field(sign + 1, std::string(sign).find('"', 1) - 1);
    CHECK(message.find(field) != std::string::npos);
  }
  CHECK(parsed(R"({"num_local_experts": 8, "hidden_size": 64, "intermediate_size": 256, "first_k_dense_replace": 0,
                   "mlp_only_layers": [], "decoder_sparse_step": 1, "moe_layer_freq": 1})")
            .layers.front()
            .width.value == 256);
}

TEST_CASE("A nested text_config is read, and so is the top level if it has the experts") {
  const std::string nested = R"({"num_experts": 8, "hidden_size": 64, "moe_intermediate_size": 32})";
  CHECK(parsed(R"({"hidden_size": 1, "vision_config": {"hidden_size": 2}, "text_config": )" + nested + "}")
            .layers.front()
            .hidden.value == 64);
  CHECK(parsed(R"({"num_experts": 8, "text_config": )" + nested + "}").layers.front().hidden.value == 64);
  CHECK(parsed(R"({"num_experts": 4, "hidden_size": 128, "moe_intermediate_size": 64, "text_config": {"layers": 2}})")
            .layers.front()
            .hidden.value == 128);
}

TEST_CASE("Different experts in the top level and in text_config are refused with both fields") {
  const auto with = [](const std::string& top) {
    return "{" + top + R"(, "text_config": {"num_experts": 8, "hidden_size": 64, "moe_intermediate_size": 32}})";
  };
  CHECK(message_of(with(R"("num_experts": 4)")) == "m.json: num_experts is 4 but text_config.num_experts is 8");
  CHECK(message_of(with(R"("n_routed_experts": 4)")) ==
        "m.json: n_routed_experts is 4 but text_config.num_experts is 8");
  CHECK(message_of(with(R"("num_experts": 8, "hidden_size": 128)")) ==
        "m.json: hidden_size is 128 but text_config.hidden_size is 64");
  CHECK(message_of(with(R"("num_experts": 8, "moe_intermediate_size": 64)")) ==
        "m.json: moe_intermediate_size is 64 but text_config.moe_intermediate_size is 32");
  CHECK(
      parsed(with(R"("num_experts": 8, "hidden_size": 64, "moe_intermediate_size": 32)")).layers.front().width.value ==
      32);
}

TEST_CASE("A quantization_config, text_config or quant_method of the wrong type is refused by name") {
  const std::string rest = R"("num_experts": 8, "moe_intermediate_size": 128, "hidden_size": 128)";
  for (const char* value : {R"("fp8")", R"("")", "8", "0", "1.5", "true", "false", "[]", R"(["fp8"])"}) {
    INFO(value);
    const std::string found = std::string(" is ") + value + ", expected an object";
    const std::string field = std::string(R"("quantization_config": )") + value;
    CHECK(message_of("{" + rest + ", " + field + "}") == "m.json: quantization_config" + found);
    const std::string nested = R"(, "text_config": {)" + rest + ", " + field + "}}";
    CHECK(message_of(R"({"layers": 2)" + nested) == "m.json: text_config.quantization_config" + found);
    CHECK(message_of("{" + field + R"(, "text_config": {)" + rest + "}}") == "m.json: quantization_config" + found);
    CHECK(message_of("{" + rest + R"(, "text_config": )" + value + "}") == "m.json: text_config" + found);
  }
  for (const char* method : {"8", "true", R"(["fp8"])", "{}"}) {
    INFO(method);
    const std::string config = std::string(R"("quantization_config": {"quant_method": )") + method + "}";
    CHECK(message_of("{" + rest + ", " + config + "}") ==
          std::string("m.json: quantization_config.quant_method is ") + method + ", expected a text");
  }
  CHECK(parsed("{" + rest + R"(, "text_config": null, "quantization_config": null})").weights.stored.empty());
}

TEST_CASE("A directory, a missing file and an unreadable file are errors that name it") {
  const test::TempFolder folder;
  const auto message = [](const fs::path& file) {
    const auto shape = warmup::read_model(file);
    REQUIRE_FALSE(shape);
    return shape.error().message;
  };
  CHECK(message(folder.path()).find((folder / "config.json").string()) != std::string::npos);
  CHECK(message(folder / "absent.json").find((folder / "absent.json").string()) != std::string::npos);
  const fs::path pipe = folder / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(message(pipe).find(pipe.string()) != std::string::npos);
}

TEST_CASE("A file far larger than any configuration is not read") {
  const test::TempFolder folder;
  const fs::path file = folder / "large.json";
  std::ofstream(file) << "{}";
  fs::resize_file(file, std::uintmax_t{1} << 40);
  CHECK_FALSE(warmup::read_model(file));
}
