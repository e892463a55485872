// The mixture-of-experts layers of a model, read from its config.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cubinet/problem.hpp"
#include "util/expected.hpp"

namespace cubinet::warmup {

// A number and the key that it comes from: "text_config.hidden_size", or "moe_intermediate_size[3]" if layers differ.
struct KeyedNumber {
  std::int64_t value = 0;
  std::string key;

  friend bool operator==(const KeyedNumber&, const KeyedNumber&) = default;
};

// The shape of the routed experts of some layers.
struct ExpertShape {
  KeyedNumber experts;  // number of experts, of all ranks together
  KeyedNumber width;    // intermediate size of an expert, of all ranks together
  KeyedNumber hidden;   // size of an expert's input and output

  friend bool operator==(const ExpertShape&, const ExpertShape&) = default;
};

// How the experts' weights are stored.
struct ExpertWeights {
  std::vector<DataType> types{DataType::bf16};  // types of the kernels to plan; both if layers differ
  std::string stored{};                         // "FP8 in blocks of 128 x 128"; empty if not quantized
  std::string reason{};  // the keys read: "quantization_config.quant_method fp8, weight_block_size [128,128]"
  bool served = true;    // whether kernels of these types take the weights as they are stored
};

// The contents of a config.json that determine the problems. model_vocabulary lists the keys that are read, and the
// objects that can describe the language model. If several objects name experts, or several keys give one number, they
// must agree.
//   width   If no key is for the experts alone, intermediate_size is their width, provided that the experts are the
//           only MLP: the model's type is known to be like that, or num_local_experts alone gives the number of
//           experts and none of first_k_dense_replace, mlp_only_layers, decoder_sparse_step and moe_layer_freq
//           indicates dense layers. Otherwise it is an error.
//   gate    There is none for activations without a gate (relu2); GEMM1 is then only the up projection.
//   lists   One value per layer. Layers with 0 experts or width 0 have no experts; equal layers count once.
// A key with the value null counts as absent. A key that appears twice in one object is an error, and so is a value of
// a type that the key does not have in models.
struct MoeShape {
  std::string model_type;
  std::vector<ExpertShape> layers;  // distinct, at least one
  std::string ungated;              // "mlp_hidden_act relu2" if there is no gate; empty if there is one
  ExpertWeights weights{};
  // Engines decide by these; shapes do not depend on them. 0 or empty if the file does not give them.
  std::string quantization{};          // quantization_config.quant_method; "modelopt" of hf_quant_config.json
  std::string architecture{};          // architectures[0]
  std::int64_t experts_per_token = 0;  // num_experts_per_tok
  std::int64_t shared_experts = 0;     // n_shared_experts | num_shared_experts
  std::int64_t shared_width = 0;       // shared_expert_intermediate_size | moe_shared_expert_intermediate_size
  std::vector<std::string> notes{};    // what was not understood or not planned; one line each, without the file's name
};

// A JSON text and its name in errors.
struct ModelText {
  std::string_view text;
  std::string origin;
};

// `config` is the text of config.json. `quantization` is that of hf_quant_config.json, which is used if the
// configuration has no quantization; empty if there is no such file. Errors (invalid_argument): those of
// parse_config(), no experts, a field of the wrong type or not positive, and the errors that MoeShape describes.
Expected<MoeShape> parse_model(const ModelText& config, const ModelText& quantization = {});

// The model's file: `path` itself, or config.json in `path` if that is a folder.
std::filesystem::path model_file(const std::filesystem::path& path);

// Parses model_file(path) and hf_quant_config.json beside it. A missing or unreadable file is an error that names it.
Expected<MoeShape> read_model(const std::filesystem::path& path);

}  // namespace cubinet::warmup
