#include "tools/request.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tools/number.hpp"
#include "warmup/model.hpp"

namespace cubinet::tools {
namespace {

constexpr std::int64_t most_ranks = 1 << 20;

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (std::size_t comma = text.find(','); comma != std::string::npos; comma = text.find(',', start)) {
    parts.push_back(text.substr(start, comma - start));
    start = comma + 1;
  }
  parts.push_back(text.substr(start));
  return parts;
}

Expected<std::vector<Layout>> parse_layouts(const std::string& text) {
  std::vector<Layout> layouts;
  for (const std::string& part : split(text)) {
    if (part != "contiguous" && part != "masked") {
      return fail(ErrorCode::invalid_argument, fmt::format("--layout: '{}' is neither contiguous nor masked", part));
    }
    const Layout layout = part == "masked" ? Layout::masked : Layout::contiguous;
    if (std::find(layouts.begin(), layouts.end(), layout) == layouts.end()) layouts.push_back(layout);
  }
  return layouts;
}

Expected<void> check_dtypes(const std::string& text) {
  for (const std::string& part : split(text)) {
    if (part == "bf16") continue;
    if (part == "fp8") {
      return fail(ErrorCode::unsupported,
                  "--dtype: there are no fp8 kernels; bf16 ones can be had for the shapes of any model");
    }
    return fail(ErrorCode::invalid_argument,
                fmt::format("--dtype: '{}' is unknown; bf16 is the one that there is", part));
  }
  return {};
}

// "groups must be from 1 to ...", in the words of can_run, without the number that it complains of.
std::string rule_of_groups() {
  const auto refused =
      jit::can_run({DataType::bf16, Layout::masked, 128, 128, std::numeric_limits<std::int32_t>::max()});
  return refused ? std::string() : refused.error().message.substr(0, refused.error().message.rfind(':'));
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// "4096,7168,32": N, K and the groups on this rank. What a kernel takes of them is for can_run to say, as far as a
// problem can hold them.
Expected<Problem> parse_shape(const std::string& text) {
  const auto refuse = [&](const std::string& rule) {
    return fail(ErrorCode::invalid_argument, fmt::format("--shape: '{}' {}", text, rule));
  };
  constexpr const char* not_one = "is not N,K,GROUPS: three positive whole numbers, commas between them and no blanks";
  const std::vector<std::string> parts = split(text);
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

Expected<std::vector<Problem>> problems_of_shapes(const RequestOptions& options, const std::vector<Layout>& layouts) {
  if (options.expert_parallel != 1 || options.tensor_parallel != 1) {
    return fail(ErrorCode::invalid_argument, "--ep and --tp divide a --model; a --shape is already what one rank sees");
  }
  std::vector<Problem> problems;
  for (const std::string& text : options.shapes) {
    auto problem = parse_shape(text);
    if (!problem) return tl::make_unexpected(problem.error());
    for (const Layout layout : layouts) {
      problem->layout = layout;
      problems.push_back(*problem);
    }
  }
  return problems;
}

// Whether kernels take the problems that the model comes to. can_run speaks of N, K and groups; the user gave a file
// and --ep, so the error names which of its fields leads there.
Expected<void> check_problems(const warmup::MoeShape& shape, std::int64_t ranks, const std::vector<Problem>& problems) {
  const std::int64_t hidden = shape.hidden_size;
  if (const auto taken = jit::can_run({DataType::bf16, Layout::masked, hidden, hidden, 1}); !taken) {
    return fail(taken.error().code, fmt::format("hidden_size {}: {}", hidden, taken.error().message));
  }
  for (const Problem& problem : problems) {
    const auto taken = jit::can_run(problem);
    if (taken) continue;
    return fail(taken.error().code,
                fmt::format("{} experts over --ep {}: {}", shape.experts, ranks, taken.error().message));
  }
  return {};
}

Expected<std::vector<Problem>> problems_of_model(const RequestOptions& options, const std::vector<Layout>& layouts,
                                                 std::string& remark) {
  const auto shape = warmup::read_model(options.model);
  if (!shape) return tl::make_unexpected(shape.error());
  if (!shape->quantization.empty()) {
    remark =
        fmt::format("{} is quantized ({}); planning bf16 kernels of its shapes", options.model, shape->quantization);
  }
  auto problems = warmup::problems_of(*shape, {options.expert_parallel, options.tensor_parallel}, layouts);
  const auto taken = problems ? check_problems(*shape, options.expert_parallel, *problems) : Expected<void>{};
  if (problems && taken) return problems;
  Error error = problems ? taken.error() : problems.error();
  error.message = options.model + ": " + error.message;
  return tl::make_unexpected(std::move(error));
}

}  // namespace

void add_request_options(CLI::App& app, RequestOptions& options) {
  constexpr std::int64_t most_sms = 1024;
  auto* model =
      app.add_option("--model", options.model, "A model's config.json")
          ->type_name("FILE")
          ->check([](const std::string& text) { return text.empty() ? "the name of the file is empty" : ""; }, "");
  auto* shape = app.add_option("--shape", options.shapes,
                               "A grouped GEMM as one rank sees it, instead of a model; may be repeated");
  shape->type_name("N,K,GROUPS")->excludes(model);
  add_number(app, "--ep", options.expert_parallel, 1, most_ranks, "Ranks over which the model's experts are dealt");
  add_number(app, "--tp", options.tensor_parallel, 1, most_ranks, "Ranks over which each expert's width is split");
  app.add_option("--dtype", options.dtype, "Type of the operands: bf16")->type_name("TYPE")->capture_default_str();
  app.add_option("--layout", options.layout, "contiguous, masked, or both with a comma between them")
      ->type_name("LAYOUT")
      ->capture_default_str();
  add_number(app, "--m-min", options.m_min, 1, warmup::largest_m,
             "Smallest M: rows of A (contiguous), or rows expected per group (masked)");
  add_number(app, "--m-max", options.m_max, 1, warmup::largest_m, "Largest M");
  app.add_option("--arch", options.arch, "Architecture to compile for")->type_name("ARCH")->capture_default_str();
  add_number(app, "--num-sms", options.num_sms, 1, most_sms,
             "SMs of the device that the kernels are for; today's selection does not depend on it");
}

Expected<Request> resolve(const RequestOptions& options) {
  if (options.model.empty() && options.shapes.empty()) {
    return fail(ErrorCode::invalid_argument, "nothing to plan for: give --model FILE or --shape N,K,GROUPS");
  }
  if (auto known = check_dtypes(options.dtype); !known) return tl::make_unexpected(known.error());
  if (options.m_min > options.m_max) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("--m-min {} is above --m-max {}", options.m_min, options.m_max));
  }
  const auto layouts = parse_layouts(options.layout);
  if (!layouts) return tl::make_unexpected(layouts.error());

  Request request;
  auto problems = options.model.empty() ? problems_of_shapes(options, *layouts)
                                        : problems_of_model(options, *layouts, request.note);
  if (!problems) return tl::make_unexpected(problems.error());
  request.plan.problems = *std::move(problems);
  request.plan.range = {options.m_min, options.m_max};
  request.plan.architecture = options.arch;
  request.plan.target.num_sms = static_cast<std::int32_t>(options.num_sms);
  return request;
}

}  // namespace cubinet::tools
