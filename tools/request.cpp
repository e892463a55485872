#include "tools/request.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include <fmt/format.h>

#include "jit/families/registry.hpp"
#include "tools/command_line.hpp"
#include "tools/toolchain.hpp"
#include "util/text.hpp"
#include "warmup/planning/engines/launched.hpp"

namespace cubinet::tools {
namespace {

constexpr std::int64_t most_ranks = 1 << 20;

// The rule of can_run() for the number of groups, "groups must be from 1 to ...", without the refused number.
std::string rule_of_groups() {
  const auto refused =
      jit::families().can_run({DataType::bf16, Layout::masked, 128, 128, std::numeric_limits<std::int32_t>::max()});
  return refused ? std::string() : refused.error().message.substr(0, refused.error().message.rfind(':'));
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// Parses "4096,7168,32": N, K and the number of groups on this rank. Checks only that a Problem can hold the numbers;
// can_run() checks what kernels support.
Expected<Problem> parse_shape(const std::string& text) {
  const auto refuse = [&](const std::string& rule) {
    return fail(ErrorCode::invalid_argument, fmt::format("--shape: '{}' {}", text, rule));
  };
  constexpr const char* not_one = "is not N,K,GROUPS: three positive whole numbers with commas and no blanks";
  const std::vector<std::string> parts = util::split(text, ',');
  std::array<std::int64_t, 3> values{};
  if (parts.size() != values.size() || !std::all_of(parts.begin(), parts.end(), is_number)) return refuse(not_one);
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = parse_number(parts[i]).value_or(std::numeric_limits<std::int64_t>::max());
    if (values[i] == 0) return refuse(not_one);
  }
  if (values[0] > most || values[1] > most) return refuse("is too large: N, K and GROUPS * N must stay below 2^31");
  if (values[2] > most) return refuse("is too large: " + rule_of_groups());
  Problem problem;
  problem.n = values[0];
  problem.k = values[1];
  problem.groups = static_cast<std::int32_t>(values[2]);
  return problem;
}

// An error if no kernel of the problem's type supports the shape.
Expected<void> check_shape(const std::string& text, const Problem& problem) {
  const auto taken = jit::families().can_run(problem);
  if (taken) return {};
  return fail(taken.error().code, fmt::format("--shape: '{}': {}{}", text, taken.error().message,
                                              warmup::padding_advice(problem.data_type, problem.k, "K")));
}

Expected<std::vector<Problem>> problems_of_shapes(const std::vector<std::string>& shapes, std::vector<Layout> layouts,
                                                  std::vector<DataType> types) {
  if (layouts.empty()) layouts = {Layout::contiguous, Layout::masked};
  if (types.empty()) types = {DataType::bf16};
  std::vector<Problem> problems;
  for (const std::string& text : shapes) {
    auto problem = parse_shape(text);
    if (!problem) return propagate(problem);
    for (const DataType type : types) {
      problem->data_type = type;
      if (auto taken = check_shape(text, *problem); !taken) return propagate(taken);
      for (const Layout layout : layouts) {
        problem->layout = layout;
        problems.push_back(*problem);
      }
    }
  }
  return problems;
}

// Adds --sglang and the like: one option for each known engine.
void add_launch_options(Command command, warmup::engines::LaunchTexts& texts) {
  for (const warmup::engines::Engine* engine : warmup::engines::engines()) {
    command
        .option(std::string("--") + engine->name, texts[engine->name],
                fmt::format("The launch command of a {} server, as it is. It determines how the experts are divided, "
                            "instead of --ep, --tp and --redundant-experts, and may name the model",
                            engine->title))
        .type_name("COMMAND")
        .not_empty("no command is given");
  }
}

// Adds --recorded, which excludes most of the options from number `first` on.
void add_recorded(Command command, RequestOptions& options, std::ptrdiff_t first) {
  const std::vector<Option> others = command.options();
  const Option recorded = command.flag(
      "--recorded", options.recorded,
      "The problems that engines on this cabinet asked for, each with its type, layout and M; see `cache problems`");
  for (auto other = others.begin() + first; other != others.end(); ++other) {
    const bool fits = other->is("--arch") || other->is("--no-generic");
    if (!fits) recorded.excludes(*other);
  }
  command
      .file("--from", options.recorded_from,
            "Read the recorded problems of another cabinet, or of a file of `cache problems --json`")
      .type_name("DIR|FILE")
      .needs(recorded);
}

}  // namespace

std::vector<Option> add_request_options(Command command, RequestOptions& options) {
  const auto before = static_cast<std::ptrdiff_t>(command.options().size());
  const Option model = command.file("--model", options.model, "A model's config.json, or its folder");
  const Option shape =
      command.option("--shape", options.shapes, "A grouped GEMM on one rank, instead of a model; may be repeated")
          .type_name("N,K,GROUPS")
          .excludes(model);
  const Option only = command
                          .flag("--generic-only", options.generic_only,
                                "Only the generic kernels, which take N and K at run time, of each --dtype and "
                                "--layout: they stand in for missing kernels of any model")
                          .excludes(model)
                          .excludes(shape);
  command.flag("--no-generic", options.no_generic, "Plan no generic kernels").excludes(only);
  add_number(command, "--ep", options.expert_parallel, 1, most_ranks,
             "Ranks over which the model's experts are divided; if that is uneven, both numbers of groups are planned");
  add_number(command, "--tp", options.tensor_parallel, 1, most_ranks, "Ranks over which each expert's width is split");
  add_number(command, "--redundant-experts", options.redundant_experts, 0, most_ranks,
             "Redundant copies of experts on all ranks together, divided like the model's experts");
  add_launch_options(command, options.launch);
  command
      .option("--dtype", options.types,
              "bf16, fp8, or bf16,fp8 (default: the type of the model's weights; bf16 for a shape)")
      .type_name("TYPE")
      .not_empty("no type is named");
  command
      .option("--layout", options.layouts,
              "contiguous, masked, or contiguous,masked (default: those of the launch command, else both)")
      .type_name("LAYOUT")
      .not_empty("no layout is named");
  add_number(command, "--m-min", options.m_first, 1, largest_m(),
             "Smallest M: rows of A (contiguous), or rows expected per group (masked)");
  add_number(command, "--m-max", options.m_last, 1, largest_m(), "Largest M");
  command.option("--arch", options.arch, "Architecture to compile for").type_name("ARCH").shown_default(options.arch);
  add_recorded(command, options, before);
  const std::vector<Option> all = command.options();
  return {all.begin() + before, all.end()};
}

Expected<warmup::ResolvedRequest> resolve(const RequestOptions& options, const std::string& cache) {
  Request request = options;
  auto types = warmup::parse_types(options.types, "--dtype");
  if (!types) return propagate(types);
  auto layouts = warmup::parse_layouts(options.layouts, "--layout");
  if (!layouts) return propagate(layouts);
  if (options.shapes.empty()) {
    request.dtype = *std::move(types);
    request.layout = *std::move(layouts);
  } else {
    const auto problems = problems_of_shapes(options.shapes, *std::move(layouts), *std::move(types));
    if (!problems) return propagate(problems);
    request.problems = warmup::over_range(*problems, {options.m_first, options.m_last});
  }
  if (request.recorded && request.recorded_from.empty()) {
    auto root = cache_root(cache);
    if (!root) return propagate(root);
    request.recorded_from = *std::move(root);
  }
  return warmup::resolve(request, warmup::command_options);
}

}  // namespace cubinet::tools
