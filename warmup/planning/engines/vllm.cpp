#include "warmup/planning/engines/vllm.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "warmup/planning/engines/model_facts.hpp"
#include "warmup/planning/model_fields.hpp"

namespace cubinet::warmup::engines {
namespace {

// The max_num_batched_tokens that vLLM chooses on a GPU of 70 to 160 GB, and with dispatchers that batch by expert.
constexpr std::int64_t default_tokens = 8192;
constexpr std::int64_t default_batched_tokens = 256;

// Hidden sizes that the dispatchers deepep_low_latency and nixl_ep support.
constexpr std::array<std::int64_t, 8> fixed_hidden_sizes{2048, 2560, 3072, 4096, 5120, 6144, 7168, 8192};
// deepep_high_throughput and deepep_v2 need rows of a multiple of 512 bytes: this many BF16 activations.
constexpr std::int64_t row_elements = 512 / 2;

constexpr std::array<Unfollowed, 10> unfollowed{{
    {"hf-overrides", "it changes the model's configuration; give --model a config.json with these changes"},
    {"model-class-overrides", "another class may launch other GEMMs"},
    {"quantization-config", "the experts' type may change"},
    {"enable-elastic-ep", "groups change when ranks join; plan for each number of ranks"},
    {"elastic-ep-max-dp-size", "groups change when ranks join; plan for each number of ranks"},
    {"speculative-config", "plan a draft model that has experts with a separate call"},
    {"spec-model", "plan a draft model that has experts with a separate call"},
    {"kernel-config", "it may choose other kernels for the experts"},
    {"num-redundant-experts", "vLLM takes it from --eplb-config"},
    {"max-num-scheduled-tokens", "it is not counted in the largest M"},
}};

// The settings of a command that determine the plan.
struct Settings {
  std::int64_t tp = 1;
  std::int64_t dp = 1;
  std::int64_t pcp = 1;
  bool expert_parallel = false;  // and more than one rank
  std::int64_t redundant = 0;
  bool balanced = false;  // --enable-eplb
  std::string dispatcher;
  std::int64_t tokens = 0;
  std::string tokens_source;

  [[nodiscard]] std::int64_t ranks() const { return bounded_product(bounded_product(tp, dp), pcp); }
  // Whether tokens are sent to the ranks of their experts. If not, every rank computes the tokens that it has.
  [[nodiscard]] bool dispatches() const { return expert_parallel && (dp > 1 || pcp > 1); }
  [[nodiscard]] bool batches_by_expert() const {
    return dispatches() && (dispatcher == "deepep_low_latency" || dispatcher == "nixl_ep");
  }
};

tl::unexpected<Error> refuse(std::string message) { return fail(ErrorCode::invalid_argument, std::move(message)); }

// eplb_config's num_redundant_experts, as --eplb-config '{...}' or --eplb-config.num_redundant_experts N gives it.
Expected<std::int64_t> redundant_experts(const Arguments& arguments) {
  constexpr const char* key = "eplb-config.num_redundant_experts";
  if (arguments.has(key)) return arguments.number(key, 0, 0);
  const std::string* text = arguments.text("eplb-config");
  if (text == nullptr) return 0;
  const auto config = nlohmann::json::parse(*text, nullptr, false);
  if (!config.is_object()) return refuse(fmt::format("--eplb-config is '{}', expected a JSON object", *text));
  const auto found = config.find("num_redundant_experts");
  if (found == config.end()) return 0;
  if (is_whole(*found, 0, largest_number)) return found->get<std::int64_t>();
  return refuse(
      fmt::format("--eplb-config: num_redundant_experts is {}, expected a whole number from 0 on", shown(*found)));
}

Expected<void> read_tokens(const LaunchCommand& command, Settings& settings) {
  const Arguments& arguments = command.arguments;
  std::int64_t otherwise = settings.batches_by_expert() ? default_batched_tokens : default_tokens;
  if (arguments.text_or("performance-mode", "") == "throughput") otherwise *= 2;
  const auto tokens = arguments.number("max-num-batched-tokens", 1, otherwise);
  if (!tokens) return propagate(tokens);
  settings.tokens = *tokens;
  settings.tokens_source = fmt::format("max_num_batched_tokens {}{}", *tokens,
                                       arguments.has("max-num-batched-tokens") ? "" : ", by default");
  return {};
}

Expected<Settings> settings_of(const LaunchCommand& command) {
  const Arguments& arguments = command.arguments;
  Settings settings;
  const std::array<std::pair<const char*, std::int64_t*>, 3> sizes{{{"tensor-parallel-size", &settings.tp},
                                                                    {"data-parallel-size", &settings.dp},
                                                                    {"prefill-context-parallel-size", &settings.pcp}}};
  for (const auto& [name, target] : sizes) {
    const auto number = arguments.number(name, 1, 1);
    if (!number) return propagate(number);
    *target = *number;
  }
  settings.expert_parallel = arguments.on("enable-expert-parallel") && settings.ranks() > 1;
  settings.balanced = arguments.on("enable-eplb");
  const auto from_environment = command.environment.find("VLLM_ALL2ALL_BACKEND");  // of earlier versions
  settings.dispatcher =
      arguments.text_or("all2all-backend", from_environment == command.environment.end() ? "allgather_reducescatter"
                                                                                         : from_environment->second);
  const auto redundant = redundant_experts(arguments);
  if (!redundant) return propagate(redundant);
  settings.redundant = *redundant;
  if (auto read = read_tokens(command, settings); !read) return propagate(read);
  return settings;
}

// Settings with which vLLM refuses to start.
Expected<void> check(const Settings& settings, const ModelFacts& facts) {
  if (settings.redundant > 0 && !settings.balanced) {
    return refuse("num_redundant_experts needs --enable-eplb");
  }
  const std::int64_t experts = facts.experts + settings.redundant;
  if (!settings.balanced || !settings.expert_parallel || experts % settings.ranks() == 0) return {};
  return refuse(
      fmt::format("{} experts and {} redundant ones cannot be distributed evenly over {} ranks, as --enable-eplb "
                  "demands",
                  facts.experts, settings.redundant, settings.ranks()));
}

void derive_ranks(const Settings& settings, LaunchPlan& plan) {
  const std::string product = fmt::format(
      "tensor_parallel_size {} x data_parallel_size {} x "
      "prefill_context_parallel_size {}",
      settings.tp, settings.dp, settings.pcp);
  plan.parallelism.expert = settings.expert_parallel ? settings.ranks() : 1;
  plan.parallelism.tensor = settings.expert_parallel ? 1 : settings.ranks();
  plan.parallelism.redundant = settings.redundant;
  plan.derivation.push_back({"expert ranks", plan.parallelism.expert,
                             settings.expert_parallel ? product : "without expert parallelism each rank has all"});
  plan.derivation.push_back({"width ranks", plan.parallelism.tensor,
                             settings.expert_parallel ? "with expert parallelism widths stay whole" : product});
  if (settings.redundant > 0) {
    plan.derivation.push_back({"redundant experts", settings.redundant, "num_redundant_experts"});
  }
}

Expected<void> pad_hidden(const Settings& settings, const ModelFacts& facts, LaunchPlan& plan) {
  if (!settings.dispatches()) return {};
  std::int64_t padded = facts.hidden;
  std::string how;
  if (settings.batches_by_expert()) {
    const auto fits = std::lower_bound(fixed_hidden_sizes.begin(), fixed_hidden_sizes.end(), padded);
    if (fits == fixed_hidden_sizes.end()) {
      return refuse(fmt::format("{} supports hidden sizes up to {}; the model's is {}", settings.dispatcher,
                                fixed_hidden_sizes.back(), padded));
    }
    padded = *fits;
    how = "supports only fixed sizes";
  } else if (settings.dispatcher == "deepep_high_throughput" || settings.dispatcher == "deepep_v2") {
    padded = (padded + row_elements - 1) / row_elements * row_elements;
    how = "needs rows of a multiple of 512 bytes";
  }
  if (padded == facts.hidden) return {};
  plan.parallelism.padded_hidden = padded;
  plan.derivation.push_back(
      {"padded hidden size", padded, fmt::format("hidden_size {}; {} {}", facts.hidden, settings.dispatcher, how)});
  return {};
}

void choose_layout(const Settings& settings, LaunchPlan& plan) {
  // Later versions treat it as allgather_reducescatter; earlier ones batched tokens by expert with it.
  if (settings.dispatches() && settings.dispatcher == "pplx") return;
  const bool masked = settings.batches_by_expert();
  plan.layouts = {masked ? Layout::masked : Layout::contiguous};
  plan.derivation.push_back(
      {"layouts", 1,
       masked ? fmt::format("masked: {} batches tokens by expert", settings.dispatcher)
              : fmt::format("contiguous: {}", settings.dispatches() ? settings.dispatcher : "no dispatcher")});
}

void derive_rows(const Settings& settings, const ModelFacts& facts, LaunchPlan& plan) {
  if (facts.experts_per_token == 0) return;
  const std::int64_t experts = facts.experts + settings.redundant;
  const std::int64_t tokens = bounded_product(settings.tokens, settings.dp);
  const std::string how = fmt::format("{} x data_parallel_size {}", settings.tokens_source, settings.dp);
  if (settings.batches_by_expert()) {
    plan.derivation.push_back(expected_rows(tokens, facts.experts_per_token, experts, how));
  } else {
    plan.derivation.push_back(
        contiguous_rows(tokens, facts.experts_per_token, groups_per_rank(facts.experts, plan.parallelism), how));
  }
}

// A note for settings with which vLLM does not run the experts on grouped GEMM kernels like these.
void note_runner(const Settings& settings, const Arguments& arguments, const ModelFacts& facts, LaunchPlan& plan) {
  constexpr std::int64_t widest_of_triton = 512;
  const std::string backend = arguments.text_or("moe-backend", "auto");
  const std::int64_t width = facts.width / plan.parallelism.tensor;
  if (plan.type.value_or(facts.type) == DataType::bf16) {
    plan.notes.push_back("vLLM runs experts in bf16 on Triton or FlashInfer, and on grouped GEMMs only in fp8");
  } else if (backend != "auto" && backend != "deep_gemm") {
    plan.notes.push_back(
        fmt::format("--moe-backend {} launches none of these kernels; the plan is that of deep_gemm", backend));
  } else if (width <= widest_of_triton && !settings.batches_by_expert()) {
    plan.notes.push_back(fmt::format("vLLM runs experts whose width per rank ({} here) is {} or less on Triton", width,
                                     widest_of_triton));
  }
}

// The type that --quantization and --dtype select; none if they leave it to the model.
void choose_type(const Arguments& arguments, const ModelFacts& facts, LaunchPlan& plan) {
  const std::string quantization = arguments.text_or("quantization", facts.quantization);
  if (quantization == "fp8_per_block" && facts.quantization.empty()) {
    plan.type = DataType::fp8;
  } else if (!names_own_quantization(facts, quantization)) {
    plan.type = DataType::bf16;
    plan.notes.push_back(
        fmt::format("--quantization {}: there are no kernels for experts that are quantized in this way when "
                    "they are loaded; planning bf16 kernels of their shapes",
                    quantization));
  }
  const std::string dtype = arguments.text_or("dtype", "auto");
  if (dtype != "auto" && dtype != "bfloat16") {
    plan.notes.push_back(fmt::format("--dtype {}: there are kernels only for bfloat16", dtype));
  }
}

Expected<LaunchPlan> plan_of(const LaunchCommand& command, const ModelFacts& facts) {
  const auto settings = settings_of(command);
  if (!settings) return propagate(settings);
  if (auto sound = check(*settings, facts); !sound) return propagate(sound);
  LaunchPlan plan;
  derive_ranks(*settings, plan);
  if (auto padded = pad_hidden(*settings, facts, plan); !padded) return propagate(padded);
  choose_layout(*settings, plan);
  choose_type(command.arguments, facts, plan);
  note_runner(*settings, command.arguments, facts, plan);
  derive_rows(*settings, facts, plan);
  return plan;
}

std::size_t program(std::span<const std::string> words) {
  const std::string_view path = words.front();
  const std::string_view name = path.substr(path.rfind('/') + 1);
  // "vllm-openai" is a container image that starts the server: docker run ... vllm/vllm-openai:latest --model ...
  const bool server = name == "vllm.entrypoints.openai.api_server" || name == "api_server.py";
  if (server || name.starts_with("vllm-openai")) return 1;
  return name == "vllm" && words.size() > 1 && words[1] == "serve" ? 2 : 0;
}

// The model: --hf-config-path (the configuration's folder, if it is not that of the weights), --model, or a positional.
std::string model(const Arguments& arguments) {
  const std::string named = arguments.positionals.empty() ? std::string() : arguments.positionals.front();
  return arguments.text_or("hf-config-path", arguments.text_or("model", named));
}

}  // namespace

const Engine& vllm() {
  static constexpr Engine engine{"vllm", "vLLM", vllm_flags, program, unfollowed, model, plan_of};
  return engine;
}

}  // namespace cubinet::warmup::engines
