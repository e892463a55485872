// cubinet plan: lists the kernels that a model or a shape needs.
#include <memory>

#include <fmt/format.h>

#include "tools/output.hpp"
#include "tools/request.hpp"
#include "warmup/planning/plan_json.hpp"

namespace cubinet::tools {
namespace {

struct PlanOptions {
  RequestOptions request;
  bool json = false;
};

constexpr const char* plan_example =
    "Example:\n"
    "  cubinet plan --model config.json --ep 8 --m-max 8192\n"
    "  cubinet plan --model config.json --sglang \"python3 -m sglang.launch_server --tp 8 --ep 8\"\n"
    "  cubinet plan --vllm \"vllm serve /models/DeepSeek-V3 -tp 8 --enable-expert-parallel\"\n"
    "  cubinet plan --shape 4096,7168,32 --dtype fp8 --layout masked --json\n";

constexpr const char* plan_help =
    "JSON: {unique_kernels, arch, nvrtc, m_range, derivation[] {quantity, value, how}, notes[], kernels[]\n"
    "{key, family, n, k, groups, m_ranges, config, uses[]}}. derivation: how each number follows from the\n"
    "model's file and the options. notes: what was not understood, or is stored in a form that no kernel\n"
    "takes. m_range: from the smallest to the largest M of the plan; every range is [first, last], both\n"
    "included. kernels has one element per key. A kernel does not depend on the number of groups, so it may\n"
    "serve several problems: uses[] lists {groups, m_ranges} of each; groups and m_ranges repeat the first.\n"
    "A kernel with n and k 0 takes them at run time: it is a generic kernel, or fp8_quantization, of which\n"
    "all FP8 problems of a plan need one; fp8_quantization has an empty config. nvrtc: the version that this\n"
    "build prefers; keys do not depend on the compiler.";

// "1-64, 129-256 and 3 more".
std::string ranges_text(const std::vector<MRange>& ranges) {
  constexpr std::size_t most = 2;
  std::string text;
  for (std::size_t i = 0; i < ranges.size() && i < most; ++i) {
    text += fmt::format("{}{}-{}", i == 0 ? "" : ", ", ranges[i].first, ranges[i].last);
  }
  if (ranges.size() > most) text += fmt::format(" and {} more", ranges.size() - most);
  return text;
}

// Adds a row for each use of the kernel; a generic kernel gets one row.
void add_rows(Table& table, const warmup::PlannedKernel& kernel, const std::string& key) {
  const jit::KernelSpec& spec = kernel.spec;
  if (spec.n == 0) {
    table.add({key, spec.family_name(), size_text(spec.n), size_text(spec.k), "-",
               spec.config.empty() ? "-" : spec.config, "any"});
    return;
  }
  bool first = true;
  for (const warmup::PlannedUse& use : kernel.uses) {
    table.add({first ? key : "", first ? spec.family_name() : "", first ? size_text(spec.n) : "",
               first ? size_text(spec.k) : "", std::to_string(use.problem.groups), first ? spec.config : "",
               ranges_text(use.m_ranges)});
    first = false;
  }
}

void print_plan(const warmup::Plan& plan) {
  Table table({"KEY", "FAMILY", ">N", ">K", ">GROUPS", "CONFIG", "M"});
  for (const warmup::PlannedKernel& kernel : plan.kernels) {
    add_rows(table, kernel, jit::key_of(kernel.spec).hex().substr(0, 12));
  }
  print(table.text());
}

int run(const PlanOptions& options) {
  const auto request = resolve(options.request);
  if (!request) return report_error(request.error(), options.json, exit_usage);
  const auto plan = warmup::make_plan(request->plan);
  if (!plan) return report_error(plan.error(), options.json, exit_usage);
  for (const std::string& text : request->notes) note(text);

  if (!options.json) {
    if (!request->derivation.empty()) print(warmup::derivation_text(request->derivation) + "\n");
    print_plan(*plan);
    const MRange range = warmup::whole_range(request->plan.problems);
    print(fmt::format("{} kernels for {}, M from {} to {}\n", plan->kernels.size(), options.request.arch, range.first,
                      range.last));
    return exit_done;
  }
  print_json(warmup::plan_json(*request, *plan));
  return exit_done;
}

}  // namespace

void add_plan(Command root) {
  const Command command = root.subcommand("plan", "List the kernels that a model or a shape needs; compiles nothing");
  const auto options = std::make_shared<PlanOptions>();
  add_request_options(command, options->request);
  command.flag("--json", options->json, "Print one JSON object");
  command.footer(std::string(plan_example) + types_help + plan_help + "\n" + exit_codes_help);
  command.action([options] { return run(*options); });
}

}  // namespace cubinet::tools
