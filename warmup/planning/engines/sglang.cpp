#include "warmup/planning/engines/sglang.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "warmup/planning/engines/model_facts.hpp"

namespace cubinet::warmup::engines {
namespace {

// chunked_prefill_size and the largest decode graph per rank, where SGLang chooses them on a GPU of 60 to 160 GB.
constexpr std::int64_t default_chunk = 8192;
constexpr std::int64_t default_graph = 512;
constexpr std::int64_t default_graph_of_few_ranks = 256;  // with tp_size below 4
// The default of SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK and of similar variables.
constexpr std::int64_t default_dispatch = 128;

constexpr std::array<std::string_view, 10> spanning_backends{
    "megamoe",       "deepep",     "deepep_v2",          "mooncake", "nixl",
    "ascend_fuseep", "flashinfer", "flashinfer_megamoe", "mori",     "pplx"};

constexpr std::array<Unfollowed, 17> unfollowed{{
    {"json-model-override-args", "it changes the model's configuration; give --model a config.json with these changes"},
    {"dwdp-size", "experts' weights are fetched from other ranks then"},
    {"enable-prefill-cp",
     "some models then distribute their experts over all ranks: add --moe-a2a-backend deepep for these"},
    {"max-ep-size", "groups change when ranks join; plan for each number of ranks"},
    {"elastic-ep-initial-size", "groups change when ranks join; plan for each number of ranks"},
    {"elastic-ep-join-mode", "groups change when ranks join; plan for each number of ranks"},
    {"kt-num-gpu-experts", "a part of the experts stays on the CPU then, and groups are fewer"},
    {"kt-weight-path", "a part of the experts stays on the CPU then, and groups are fewer"},
    {"enable-paged-experts", "a part of the experts is on the device then, and groups are fewer"},
    {"paged-experts-num-resident", "a part of the experts is on the device then, and groups are fewer"},
    {"modelopt-quant", "the experts' type changes"},
    {"rl-quant-profile", "the experts' type changes"},
    {"speculative-draft-model-path", "plan a draft model that has experts with a separate call"},
    {"speculative-draft-model-quantization", "plan a draft model with a separate call"},
    {"speculative-moe-a2a-backend", "the draft's layers may launch the other layout"},
    {"cuda-graph-config", "larger batches than by default are not counted in the largest M"},
    {"enable-dynamic-chunking", "larger chunks of prefill are not counted in the largest M"},
}};

// The settings of a command that determine the plan.
struct Settings {
  std::int64_t tp = 1;
  std::int64_t ep = 1;
  std::string ep_source;
  std::int64_t moe_dp = 1;
  std::int64_t attention_dp = 1;
  std::int64_t redundant = 0;
  std::int64_t chunk = default_chunk;  // -1: prefill is not chunked
  std::string chunk_source;
  std::int64_t graph = 0;         // requests of the largest decode graph on one rank
  std::int64_t draft_tokens = 1;  // per request
  std::int64_t dispatch = default_dispatch;
  std::string a2a;
  std::string runner;
};

// Reads the numbers of a command and keeps the first error.
class Numbers {
 public:
  explicit Numbers(const LaunchCommand& command) : command_(command) {}

  std::int64_t operator()(std::string_view name, std::int64_t least, std::int64_t otherwise) {
    return kept(command_.arguments.number(name, least, otherwise), otherwise);
  }
  std::int64_t variable(std::string_view name, std::int64_t otherwise) {
    return kept(engines::variable(command_, name, otherwise), otherwise);
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  std::int64_t kept(Expected<std::int64_t> number, std::int64_t otherwise) {
    if (!number && !error_) error_ = std::move(number).error();
    return number.value_or(otherwise);
  }

  const LaunchCommand& command_;
  std::optional<Error> error_;
};

bool spans_all_ranks(std::string_view backend) {
  return std::find(spanning_backends.begin(), spanning_backends.end(), backend) != spanning_backends.end();
}

std::string backend_of(const Arguments& arguments) {
  std::string backend = arguments.text_or("moe-a2a-backend", arguments.has("enable-deepep-moe") ? "deepep" : "none");
  if (arguments.text_or("moe-runner-backend", "") == "megamoe") backend = "megamoe";
  if (arguments.has("enable-waterfill") && backend != "deepep" && backend != "megamoe") backend = "deepep";
  return backend;
}

// ep_size, which some dispatchers override, and its derivation.
void distribute_experts(const Arguments& arguments, Settings& settings) {
  if (spans_all_ranks(settings.a2a)) {
    settings.ep = settings.tp;
    settings.ep_source =
        fmt::format("moe_a2a_backend {} distributes experts over all of tp_size {}", settings.a2a, settings.tp);
  } else if (arguments.has("enable-ep-moe")) {
    settings.ep = settings.tp;
    settings.ep_source = fmt::format("enable_ep_moe distributes experts over all of tp_size {}", settings.tp);
  } else {
    settings.ep_source = fmt::format("ep_size {}", settings.ep);
  }
}

Expected<Settings> settings_of(const LaunchCommand& command) {
  const Arguments& arguments = command.arguments;
  Numbers number(command);
  Settings settings;
  settings.a2a = backend_of(arguments);
  settings.runner = arguments.text_or("moe-runner-backend", "auto");
  settings.tp = number("tp-size", 1, 1);
  settings.ep = number("ep-size", 1, 1);
  settings.moe_dp = number("moe-dp-size", 1, 1);
  settings.attention_dp = number("attn-dp-size", 1, 1);
  const std::int64_t dp = number("dp-size", 1, 1);
  if (arguments.has("enable-dp-attention") && settings.attention_dp == 1) settings.attention_dp = dp;
  settings.redundant = number("ep-num-redundant-experts", 0, 0);
  settings.chunk = number("chunked-prefill-size", -1, default_chunk);
  settings.chunk_source =
      arguments.has("chunked-prefill-size") ? "chunked_prefill_size" : "chunked_prefill_size by default";
  const std::int64_t graph = settings.tp < 4 ? default_graph_of_few_ranks : default_graph;
  settings.graph = number("cuda-graph-max-bs-decode", 1, number("cuda-graph-max-bs", 1, graph));
  if (arguments.has("speculative-algorithm")) settings.draft_tokens = number("speculative-num-draft-tokens", 1, 4);
  const bool nixl = settings.a2a == "nixl";
  const bool pplx = settings.a2a == "pplx";
  settings.dispatch = number.variable(nixl   ? "SGLANG_NIXL_EP_NUM_MAX_DISPATCH_TOKENS_PER_RANK"
                                      : pplx ? "SGLANG_PPLX_NUM_MAX_DISPATCH_TOKENS_PER_RANK"
                                             : "SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK",
                                      default_dispatch);
  if (number.error()) return fail(*number.error());
  distribute_experts(arguments, settings);
  return settings;
}

// Settings with which SGLang refuses to start.
Expected<void> check(const Settings& settings, const ModelFacts& facts) {
  const auto refuse = [](std::string message) { return fail(ErrorCode::invalid_argument, std::move(message)); };
  if (settings.tp % (settings.ep * settings.moe_dp) != 0) {
    return refuse(fmt::format("tp_size {} is not a multiple of ep_size {} x moe_dp_size {}", settings.tp, settings.ep,
                              settings.moe_dp));
  }
  const std::int64_t experts = facts.experts + settings.redundant;
  if (experts % settings.ep == 0) return {};
  return refuse(
      fmt::format("{} experts and {} redundant ones cannot be distributed evenly over ep_size {}, as SGLang demands",
                  facts.experts, settings.redundant, settings.ep));
}

FusedShared shared_of(const LaunchCommand& command, const Settings& settings, const ModelFacts& facts) {
  const Arguments& arguments = command.arguments;
  FusionSettings fusion;
  fusion.expert_ranks = settings.ep;
  fusion.a2a_backend = settings.a2a;
  fusion.runner_backend = settings.runner;
  const bool waterfill = arguments.has("enable-waterfill");
  fusion.disabled = arguments.has("disable-shared-experts-fusion") && !waterfill;
  fusion.enforced = arguments.has("enforce-shared-experts-fusion") || waterfill;
  fusion.overlapped = arguments.has("enable-two-batch-overlap") || arguments.has("enable-single-batch-overlap");
  return fused_shared(facts, fusion);
}

void derive_ranks(const Settings& settings, const FusedShared& shared, LaunchPlan& plan) {
  plan.parallelism.expert = settings.ep;
  plan.parallelism.tensor = settings.tp / settings.ep / settings.moe_dp;
  plan.parallelism.redundant = settings.redundant;
  plan.parallelism.fused_shared = shared.groups;
  plan.derivation.push_back({"expert ranks", settings.ep, settings.ep_source});
  plan.derivation.push_back(
      {"width ranks", plan.parallelism.tensor,
       fmt::format("tp_size {} / ep_size {} / moe_dp_size {}", settings.tp, settings.ep, settings.moe_dp)});
  if (settings.redundant > 0) {
    plan.derivation.push_back({"redundant experts", settings.redundant, "ep_num_redundant_experts"});
  }
  plan.derivation.push_back({"fused shared experts", shared.groups, shared.why});
}

// One layout is planned only if it is certain that the other is not launched. The draft model of speculative decoding
// may use another layout.
void choose_layouts(const LaunchCommand& command, const Settings& settings, LaunchPlan& plan) {
  if (command.arguments.has("speculative-moe-a2a-backend")) return;
  const auto only = [&](Layout layout, std::string how) {
    plan.layouts = {layout};
    plan.derivation.push_back({"layouts", 1, std::move(how)});
  };
  const std::string mode = command.arguments.text_or("deepep-mode", "auto");
  if (settings.a2a == "pplx") return only(Layout::masked, "masked: moe_a2a_backend pplx");
  if (settings.a2a == "deepep" && mode == "low_latency") return only(Layout::masked, "masked: deepep_mode low_latency");
  if (settings.a2a == "deepep" && mode == "normal") return only(Layout::contiguous, "contiguous: deepep_mode normal");
}

void derive_rows(const Settings& settings, const ModelFacts& facts, LaunchPlan& plan) {
  if (facts.experts_per_token == 0) return;
  const std::int64_t copies = facts.experts_per_token + plan.parallelism.fused_shared;
  const std::int64_t decode =
      bounded_product(bounded_product(settings.graph, settings.attention_dp), settings.draft_tokens);
  const std::int64_t tokens = std::max(settings.chunk, decode);
  const std::string how = tokens == settings.chunk
                              ? settings.chunk_source
                              : fmt::format("decode graphs of {} requests x attn_dp_size {} x {} tokens",
                                            settings.graph, settings.attention_dp, settings.draft_tokens);
  if (settings.chunk > 0) {
    plan.derivation.push_back(contiguous_rows(tokens, copies, groups_per_rank(facts.experts, plan.parallelism), how));
  }
  const std::int64_t experts = facts.experts + settings.redundant + plan.parallelism.fused_shared;
  const bool dispatched = settings.a2a == "deepep" || settings.a2a == "nixl" || settings.a2a == "pplx";
  plan.derivation.push_back(
      dispatched ? expected_rows(bounded_product(settings.dispatch, settings.ep), copies, experts,
                                 fmt::format("dispatch capacity {} x ep_size {}", settings.dispatch, settings.ep))
                 : expected_rows(tokens, copies, experts, how));
}

// A note for settings with which SGLang does not run the experts on grouped GEMM kernels like these.
void note_runner(const Settings& settings, DataType type, LaunchPlan& plan) {
  const bool dispatched = settings.a2a == "deepep" || settings.a2a == "mooncake" || settings.a2a == "nixl";
  const bool chosen = settings.runner == "deep_gemm" || settings.a2a == "pplx" ||
                      (settings.runner == "auto" && settings.a2a == "deepep_v2");
  if (chosen || (settings.runner == "auto" && type == DataType::fp8 && dispatched)) return;
  const std::string runs = settings.runner == "auto" ? "Triton" : settings.runner;
  plan.notes.push_back(
      fmt::format("with these options SGLang runs the experts with {} and launches none of these kernels; the plan is "
                  "for the same command with --moe-runner-backend deep_gemm",
                  runs));
}

// The type that --quantization and --dtype select; none if they leave it to the model.
void choose_type(const Arguments& arguments, const ModelFacts& facts, LaunchPlan& plan) {
  const std::string quantization = arguments.text_or("quantization", facts.quantization);
  if (quantization == "unquant") {
    plan.type = DataType::bf16;
  } else if (!names_own_quantization(facts, quantization)) {
    plan.type = DataType::bf16;
    plan.notes.push_back(
        fmt::format("--quantization {}: there are no kernels for experts that are quantized in this way when "
                    "they are loaded; planning bf16 kernels of their shapes",
                    quantization));
  }
  const std::string dtype = arguments.text_or("dtype", "auto");
  if (dtype == "auto" || dtype == "bfloat16") return;
  plan.notes.push_back(fmt::format("--dtype {}: there are kernels only for bfloat16", dtype));
}

Expected<LaunchPlan> plan_of(const LaunchCommand& command, const ModelFacts& facts) {
  const auto settings = settings_of(command);
  if (!settings) return propagate(settings);
  if (auto sound = check(*settings, facts); !sound) return propagate(sound);
  LaunchPlan plan;
  derive_ranks(*settings, shared_of(command, *settings, facts), plan);
  choose_layouts(command, *settings, plan);
  choose_type(command.arguments, facts, plan);
  note_runner(*settings, plan.type.value_or(facts.type), plan);
  derive_rows(*settings, facts, plan);
  return plan;
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::size_t program(std::span<const std::string> words) {
  const std::string_view name = base_name(words.front());
  // compile_deep_gemm compiles DeepGEMM's kernels and takes the server's options.
  constexpr std::array<std::string_view, 4> modules{"sglang.launch_server", "launch_server.py",
                                                    "sglang_router.launch_server", "sglang.compile_deep_gemm"};
  if (std::find(modules.begin(), modules.end(), name) != modules.end()) return 1;
  return name == "sglang" && words.size() > 1 && words[1] == "serve" ? 2 : 0;
}

// "sglang serve MODEL" takes the model as a positional argument, too.
std::string model(const Arguments& arguments) {
  return arguments.text_or("model-path", arguments.positionals.empty() ? "" : arguments.positionals.front());
}

}  // namespace

const Engine& sglang() {
  static constexpr Engine engine{"sglang", "SGLang", sglang_flags, program, unfollowed, model, plan_of};
  return engine;
}

}  // namespace cubinet::warmup::engines
