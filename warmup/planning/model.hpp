// What a model's config.json says of its mixture-of-experts layers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cubinet/problem.hpp"
#include "util/expected.hpp"

namespace cubinet::warmup {

// A number, and the key that gave it: "text_config.hidden_size", "moe_intermediate_size[3]" where layers differ.
struct KeyedNumber {
  std::int64_t value = 0;
  std::string key;

  friend bool operator==(const KeyedNumber&, const KeyedNumber&) = default;
};

// The routed experts of some layers.
struct ExpertShape {
  KeyedNumber experts;  // E, before expert parallelism
  KeyedNumber width;    // I0, before tensor parallelism
  KeyedNumber hidden;   // H, of their input and output

  friend bool operator==(const ExpertShape&, const ExpertShape&) = default;
};

// How the experts' weights are stored.
struct ExpertWeights {
  std::vector<DataType> types{DataType::bf16};  // of the kernels to plan: both where layers differ
  std::string stored{};                         // "FP8 in blocks of 128 x 128"; empty: not quantized
  std::string reason{};  // the keys that say so: "quantization_config.quant_method fp8, weight_block_size [128,128]"
  bool served = true;    // whether kernels of these types take them as they are stored
};

// What of a config.json decides the problems. model_vocabulary has the keys that are read, and the objects in which a
// language model is looked for; where several of these name experts they must agree, as must two keys for one number.
//   width   where no key is the experts' own, intermediate_size counts if the experts are the only MLP: the model's
//   type
//           is known for it, or num_local_experts alone gives the experts and none of first_k_dense_replace,
//           mlp_only_layers, decoder_sparse_step or moe_layer_freq tells of dense layers. Else that is an error.
//   gate    none where the activation is one that goes without (relu2): GEMM1 is then the up projection alone.
//   lists   with a value for each layer: layers with 0 experts or width 0 have none, equal ones count once.
// A key that is null counts as absent. One that is given twice in one object is an error, and so is one of another type
// than it has in models.
struct MoeShape {
  std::string model_type;
  std::vector<ExpertShape> layers;  // distinct, at least one
  std::string ungated;              // "mlp_hidden_act relu2" where there is no gate; empty: there is
  ExpertWeights weights{};
  // What engines decide by, and no shape: 0 and empty where the file does not say it.
  std::string quantization{};          // quantization_config.quant_method; "modelopt" of hf_quant_config.json
  std::string architecture{};          // architectures[0]
  std::int64_t experts_per_token = 0;  // num_experts_per_tok
  std::int64_t shared_experts = 0;     // n_shared_experts | num_shared_experts
  std::int64_t shared_width = 0;       // shared_expert_intermediate_size | moe_shared_expert_intermediate_size
  std::vector<std::string> notes{};    // what is not understood, or left out; each on one line, without the file's name
};

// A text of JSON, and what names it in errors.
struct ModelText {
  std::string_view text;
  std::string origin;
};

// `config` is the JSON and nothing after it, `quantization` that of hf_quant_config.json, which counts where the
// configuration says nothing of a quantization; empty: there is none. Infinity and NaN, which Python writes, are read
// as null. Errors: not JSON (with line and column), no experts, a field of the wrong type or not positive, and what
// MoeShape says.
Expected<MoeShape> parse_model(const ModelText& config, const ModelText& quantization = {});

// The model's file: `path`, or config.json in the folder that it names.
std::filesystem::path model_file(const std::filesystem::path& path);

// Reads it, and hf_quant_config.json beside it. A missing or an unreadable file is an error that names it.
Expected<MoeShape> read_model(const std::filesystem::path& path);

}  // namespace cubinet::warmup
