#include "tools/request.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

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

// Nothing where the user leaves the choice to the model. The type with the stricter rules comes first, so that what an
// error says to pad to serves them all.
Expected<std::vector<DataType>> parse_types(const std::string& text) {
  std::vector<DataType> types;
  if (text.empty()) return types;
  for (const std::string& part : split(text)) {
    if (part != "bf16" && part != "fp8") {
      return fail(ErrorCode::invalid_argument, fmt::format("--dtype: '{}' is neither bf16 nor fp8", part));
    }
    const DataType type = part == "fp8" ? DataType::fp8 : DataType::bf16;
    if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
  }
  std::sort(types.begin(), types.end(),
            [](DataType a, DataType b) { return jit::element_bytes(a) < jit::element_bytes(b); });
  return types;
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

// How a size that kernels of `type` do not take is mended, for the end of a message; empty when they take it.
std::string mend(DataType type, std::int64_t size, std::string_view padding) {
  const auto padded = warmup::padded_size(type, size);
  return padded && *padded > size ? fmt::format("; {} to {} mends it", padding, *padded) : std::string();
}

// Whether kernels of its type take a shape.
Expected<void> check_shape(const std::string& text, const Problem& problem) {
  const auto taken = jit::can_run(problem);
  if (taken) return {};
  return fail(taken.error().code, fmt::format("--shape: '{}': {}{}", text, taken.error().message,
                                              mend(problem.data_type, problem.k, "padding K")));
}

Expected<std::vector<Problem>> problems_of_shapes(const RequestOptions& options, const std::vector<Layout>& layouts,
                                                  std::vector<DataType> types) {
  if (types.empty()) types = {DataType::bf16};
  std::vector<Problem> problems;
  for (const std::string& text : options.shapes) {
    auto problem = parse_shape(text);
    if (!problem) return tl::make_unexpected(problem.error());
    for (const DataType type : types) {
      problem->data_type = type;
      if (auto taken = check_shape(text, *problem); !taken) return tl::make_unexpected(taken.error());
      for (const Layout layout : layouts) {
        problem->layout = layout;
        problems.push_back(*problem);
      }
    }
  }
  return problems;
}

// Whether kernels of each type take the model's hidden size, which no parallelism changes. can_run speaks of N and K;
// the user gave a file, so the error names the field that leads there.
Expected<void> check_hidden(std::int64_t hidden, const std::vector<DataType>& types) {
  for (const DataType type : types) {
    const auto taken = jit::can_run({type, Layout::masked, hidden, hidden, 1});
    if (taken) continue;
    return fail(taken.error().code,
                fmt::format("hidden_size {}: {}{}", hidden, taken.error().message, mend(type, hidden, "padding it")));
  }
  return {};
}

// The same for the groups, which --ep leads to.
Expected<void> check_groups(const warmup::MoeShape& shape, std::int64_t ranks, const std::vector<Problem>& problems) {
  for (const Problem& problem : problems) {
    const auto taken = jit::can_run(problem);
    if (taken) continue;
    return fail(taken.error().code,
                fmt::format("{} experts over --ep {}: {}", shape.experts, ranks, taken.error().message));
  }
  return {};
}

// What the user should know of quantized weights where kernels are planned for another type; empty otherwise.
std::string remark_on(const warmup::MoeShape& shape, const std::vector<DataType>& types) {
  if (shape.quantization.empty()) return {};
  const auto stored = warmup::weight_type(shape);
  const auto has = [&](DataType type) { return std::find(types.begin(), types.end(), type) != types.end(); };
  if (stored && *stored == DataType::fp8 && has(DataType::fp8)) return {};
  const char* planned = !has(DataType::fp8) ? "bf16" : has(DataType::bf16) ? "bf16 and fp8" : "fp8";
  const std::string blocks =
      shape.weight_block.empty() ? std::string() : " with weight_block_size " + shape.weight_block;
  return fmt::format("is quantized ({}{}); planning {} kernels of its shapes", shape.quantization, blocks, planned);
}

// The problems of a model and the types of its operands: those asked for, else that of its weights.
Expected<std::vector<Problem>> problems_of_shape(const warmup::MoeShape& shape, const RequestOptions& options,
                                                 const std::vector<Layout>& layouts, std::vector<DataType>& types) {
  if (types.empty()) {
    const auto stored = warmup::weight_type(shape);
    if (!stored) return tl::make_unexpected(stored.error());
    types = {*stored};
  }
  if (auto taken = check_hidden(shape.hidden_size, types); !taken) return tl::make_unexpected(taken.error());
  auto problems = warmup::problems_of(shape, {options.expert_parallel, options.tensor_parallel}, layouts, types);
  if (!problems) return problems;
  auto taken = check_groups(shape, options.expert_parallel, *problems);
  if (!taken) return tl::make_unexpected(taken.error());
  return problems;
}

Expected<std::vector<Problem>> problems_of_model(const RequestOptions& options, const std::vector<Layout>& layouts,
                                                 std::vector<DataType> types, std::string& remark) {
  const auto shape = warmup::read_model(options.model);
  if (!shape) return tl::make_unexpected(shape.error());
  auto problems = problems_of_shape(*shape, options, layouts, types);
  if (!problems) {
    Error error = std::move(problems).error();
    error.message = options.model + ": " + error.message;
    return tl::make_unexpected(std::move(error));
  }
  remark = remark_on(*shape, types);
  if (!remark.empty()) remark = options.model + " " + remark;
  return problems;
}

// One for each type and layout; its sizes are of no account.
std::vector<Problem> problems_of_generic(const std::vector<Layout>& layouts, std::vector<DataType> types) {
  if (types.empty()) types = {DataType::fp8, DataType::bf16};
  std::vector<Problem> problems;
  for (const DataType type : types) {
    for (const Layout layout : layouts) problems.push_back({type, layout, 128, 128, 1});
  }
  return problems;
}

Expected<std::vector<Problem>> problems_of_options(const RequestOptions& options, const std::vector<Layout>& layouts,
                                                   const std::vector<DataType>& types, std::string& note) {
  if (options.generic_only) return problems_of_generic(layouts, types);
  if (!options.model.empty()) return problems_of_model(options, layouts, types, note);
  return problems_of_shapes(options, layouts, types);
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
  auto* only = app.add_flag("--generic-only", options.generic_only,
                            "Only the kernels with N and K at run time, of each --dtype and --layout: they stand in "
                            "for any other while that is being made, on any model");
  only->excludes(model)->excludes(shape);
  app.add_flag("--no-generic", options.no_generic, "Leave these kernels out")->excludes(only);
  add_number(app, "--ep", options.expert_parallel, 1, most_ranks, "Ranks over which the model's experts are dealt");
  add_number(app, "--tp", options.tensor_parallel, 1, most_ranks, "Ranks over which each expert's width is split");
  app.add_option(
         "--dtype", options.dtype,
         "bf16, fp8, or both with a comma between them (default: what the model's weights are; bf16 for a shape)")
      ->type_name("TYPE")
      ->check([](const std::string& text) { return text.empty() ? "no type is named" : ""; }, "");
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
  if (options.model.empty() && options.shapes.empty() && !options.generic_only) {
    return fail(ErrorCode::invalid_argument,
                "nothing to plan for: give --model FILE, --shape N,K,GROUPS or --generic-only");
  }
  if (options.model.empty() && (options.expert_parallel != 1 || options.tensor_parallel != 1)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("--ep and --tp divide a --model; {}",
                            options.generic_only ? "the kernels of --generic-only are the same on every rank"
                                                 : "a --shape is already what one rank sees"));
  }
  const auto types = parse_types(options.dtype);
  if (!types) return tl::make_unexpected(types.error());
  if (options.m_min > options.m_max) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("--m-min {} is above --m-max {}", options.m_min, options.m_max));
  }
  const auto layouts = parse_layouts(options.layout);
  if (!layouts) return tl::make_unexpected(layouts.error());

  Request request;
  auto problems = problems_of_options(options, *layouts, *types, request.note);
  if (!problems) return tl::make_unexpected(problems.error());
  request.plan.problems = *std::move(problems);
  request.plan.range = {options.m_min, options.m_max};
  request.plan.architecture = options.arch;
  request.plan.specialized = !options.generic_only;
  request.plan.generic = !options.no_generic;
  request.plan.target.num_sms = static_cast<std::int32_t>(options.num_sms);
  return request;
}

}  // namespace cubinet::tools
