#include "warmup/planning/request.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "util/text.hpp"
#include "warmup/planning/model_problems.hpp"
#include "warmup/planning/recorded_problems.hpp"

namespace cubinet::warmup {
namespace {

tl::unexpected<Error> refuse(std::string message) { return fail(ErrorCode::invalid_argument, std::move(message)); }

// The parts of `text` as values, each once, in the order of the text.
template <class Value>
Expected<std::vector<Value>> parse_list(const char* option, const std::string& text,
                                        const std::vector<std::pair<std::string, Value>>& known) {
  std::vector<Value> values;
  for (const std::string& part : util::split(text, ',')) {
    const auto named = [&](const auto& one) { return one.first == part; };
    const auto found = std::find_if(known.begin(), known.end(), named);
    if (found == known.end()) {
      return refuse(
          fmt::format("{}: '{}' is neither {} nor {}", option, part, known.front().first, known.back().first));
    }
    if (std::find(values.begin(), values.end(), found->second) == values.end()) values.push_back(found->second);
  }
  return values;
}

Expected<std::vector<Layout>> parse_layouts(const std::string& text, const OptionNames& names) {
  if (text.empty()) return std::vector<Layout>{Layout::contiguous, Layout::masked};
  return parse_list<Layout>(names.layout, text, {{"contiguous", Layout::contiguous}, {"masked", Layout::masked}});
}

// Nothing where the user leaves the choice to the model. The type with the stricter rules comes first, so that what an
// error says to pad to serves them all.
Expected<std::vector<DataType>> parse_types(const std::string& text, const OptionNames& names) {
  if (text.empty()) return std::vector<DataType>();
  auto types = parse_list<DataType>(names.dtype, text, {{"bf16", DataType::bf16}, {"fp8", DataType::fp8}});
  if (!types) return types;
  std::sort(types->begin(), types->end(),
            [](DataType a, DataType b) { return jit::element_bytes(a) < jit::element_bytes(b); });
  return types;
}

// The number of groups, which the number of ranks leads to, may be more than a kernel takes.
Expected<void> check_groups(const MoeShape& shape, std::int64_t ranks, const std::vector<Problem>& problems,
                            const OptionNames& names) {
  for (const Problem& problem : problems) {
    const auto taken = jit::can_run(problem);
    if (taken) continue;
    return fail(taken.error().code, fmt::format("{} experts over {} {}: {}", shape.layers.front().experts.value,
                                                names.expert_parallel, ranks, taken.error().message));
  }
  return {};
}

std::string types_text(const std::vector<DataType>& types) {
  std::vector<std::string> names;
  for (const DataType type : types) names.emplace_back(jit::data_type_name(type));
  std::sort(names.begin(), names.end());
  return fmt::format("{}", fmt::join(names, " and "));
}

// What the user should know of weights for which no kernel of these types is; empty otherwise.
std::string remark_on(const ExpertWeights& weights, const std::vector<DataType>& types) {
  if (weights.stored.empty()) return {};
  const auto planned = [&](DataType type) { return std::find(types.begin(), types.end(), type) != types.end(); };
  if (weights.served && std::all_of(weights.types.begin(), weights.types.end(), planned)) return {};
  return fmt::format("the experts are stored as {} ({}){}; planning {} kernels of their shapes", weights.stored,
                     weights.reason, weights.served ? "" : ", which no kernel here takes", types_text(types));
}

// The type of the operands as a number: the bits of an element.
Derivation derivation_of_type(DataType type, const std::string& reason) {
  return {"bits", 8 * jit::element_bytes(type), fmt::format("{}: {}", jit::data_type_name(type), reason)};
}

// The options, understood as far as they are lists.
struct Understood {
  const RequestOptions& options;
  OptionNames names;
  std::vector<Layout> layouts;
  std::vector<DataType> types;
  Parallelism parallelism;
  const engines::Launched* launched;  // null: no launch command is given
};

// What a launch command says of a model, in the place of what the user did not give.
Expected<Understood> as_launched(Understood wanted, const MoeShape& shape, Request& request) {
  if (wanted.launched == nullptr) return wanted;
  auto plan = engines::launch_plan(*wanted.launched, shape);
  if (!plan) return propagate(plan);
  wanted.parallelism = plan->parallelism;
  if (wanted.options.layout.empty()) wanted.layouts = plan->layouts;
  if (wanted.types.empty() && plan->type) wanted.types = {*plan->type};
  // The command has other names for what it divides by.
  wanted.names.expert_parallel = "expert ranks";
  wanted.names.tensor_parallel = "width ranks";
  request.notes = std::move(plan->notes);
  request.derivation = std::move(plan->derivation);
  return wanted;
}

// The problems of a model in the types asked for, else that of its weights.
Expected<std::vector<Problem>> problems_of_shape(const MoeShape& shape, const Understood& wanted) {
  auto problems = problems_of(shape, wanted.parallelism, wanted.layouts, wanted.types, wanted.names);
  if (!problems) return problems;
  auto taken = check_groups(shape, wanted.parallelism.expert, *problems, wanted.names);
  if (!taken) return propagate(taken);
  return problems;
}

// How these problems came about, and what the user should know of the model. `type_reason`: who chose the types.
void explain(const MoeShape& shape, const Understood& wanted, const std::string& type_reason, Request& request) {
  for (Derivation& line : derivation_of(shape, wanted.parallelism)) request.derivation.push_back(std::move(line));
  for (const DataType type : wanted.types) request.derivation.push_back(derivation_of_type(type, type_reason));
  const std::string& file = wanted.options.model;
  for (const std::string& note : shape.notes) request.notes.push_back(file + ": " + note);
  const std::string remark = remark_on(shape.weights, wanted.types);
  if (!remark.empty()) request.notes.push_back(file + ": " + remark);
}

Expected<std::vector<Problem>> problems_of_model(const Understood& asked, Request& request) {
  const std::string& file = asked.options.model;
  const auto shape = read_model(file);
  if (!shape) return propagate(shape);
  auto wanted = as_launched(asked, *shape, request);
  if (!wanted) return propagate(wanted);
  std::string type_reason = !asked.types.empty()     ? "asked for"
                            : !wanted->types.empty() ? asked.launched->option
                                                     : shape->weights.reason;
  if (wanted->types.empty()) wanted->types = shape->weights.types;
  auto problems = problems_of_shape(*shape, *wanted);
  if (!problems) {
    Error error = std::move(problems).error();
    error.message = file + ": " + error.message;
    return fail(std::move(error));
  }
  explain(*shape, *wanted, type_reason, request);
  return problems;
}

// One for each type and layout; its sizes are of no account.
std::vector<Problem> problems_of_generic(const Understood& wanted) {
  std::vector<DataType> types = wanted.types;
  if (types.empty()) types = {DataType::fp8, DataType::bf16};
  std::vector<Problem> problems;
  for (const DataType type : types) {
    for (const Layout layout : wanted.layouts) problems.push_back({type, layout, 128, 128, 1});
  }
  return problems;
}

// That there is one source of problems, and what goes with it alone.
Expected<void> check_source(const RequestOptions& options, bool given, const OptionNames& names) {
  const int sources =
      (options.model.empty() ? 0 : 1) + (given ? 1 : 0) + (options.recorded ? 1 : 0) + (options.generic_only ? 1 : 0);
  if (sources == 0) return refuse(fmt::format("nothing to plan for: give {}", names.sources));
  if (sources > 1) return refuse(fmt::format("more than one thing to plan for: give either {}", names.sources));
  if (options.generic_only && options.no_generic) {
    return refuse(fmt::format("{} and {} leave nothing to plan", names.generic_only, names.no_generic));
  }
  if (options.recorded && !(options.dtype.empty() && options.layout.empty())) {
    return refuse(fmt::format("{} is not for {}: each problem has its own",
                              options.dtype.empty() ? names.layout : names.dtype, names.recorded));
  }
  if (!options.model.empty() || options.parallelism == Parallelism()) return {};
  const std::string why =
      options.generic_only
          ? fmt::format("the kernels of {} are the same on every rank", names.generic_only)
          : fmt::format("a {} is already what one rank sees", options.recorded ? "recorded problem" : names.problem);
  return refuse(fmt::format("{}, {} and {} divide a {}; {}", names.expert_parallel, names.tensor_parallel,
                            names.redundant_experts, names.model, why));
}

// That a launch command stands with a model alone, and in the place of what it says itself; and its model.
Expected<RequestOptions> with_launch(RequestOptions options, const std::optional<engines::Launched>& launched,
                                     bool given, const OptionNames& names) {
  if (!launched) return options;
  if (given || options.recorded || options.generic_only) {
    const char* const source = given ? names.problem : options.recorded ? names.recorded : names.generic_only;
    return refuse(fmt::format("{} is for a {}, not for {}", launched->option, names.model, source));
  }
  if (options.parallelism != Parallelism()) {
    return refuse(fmt::format("{} says how the experts are divided; leave out {}, {} and {}", launched->option,
                              names.expert_parallel, names.tensor_parallel, names.redundant_experts));
  }
  if (!options.model.empty()) return options;
  auto file = engines::model_of(*launched, names);
  if (!file) return propagate(file);
  options.model = *std::move(file);
  return options;
}

Expected<std::vector<ProblemRange>> problems_of_records(const std::string& place, std::vector<std::string>& notes) {
  const auto recorded = read_recorded(place);
  if (!recorded) return propagate(recorded);
  if (!recorded->skipped.empty()) {
    const auto skipped = static_cast<std::int64_t>(recorded->skipped.size());
    notes.push_back(fmt::format("{} in {} cannot be used, for one: {}", util::count_text(skipped, "record"), place,
                                recorded->skipped.front().reason));
  }
  auto problems = problems_of(*recorded, place);
  if (!problems) return problems;
  const auto count = static_cast<std::int64_t>(problems->size());
  notes.push_back(
      fmt::format("planning {} that engines asked for, as recorded in {}", util::count_text(count, "problem"), place));
  return problems;
}

Expected<std::vector<ProblemRange>> problems_of_source(const Understood& wanted, const GivenProblems& given,
                                                       Request& request) {
  const RequestOptions& options = wanted.options;
  const auto over_m = [&](const std::vector<Problem>& problems) {
    return over_range(problems, {options.m_min, options.m_max});
  };
  if (options.generic_only) return over_m(problems_of_generic(wanted));
  if (options.recorded) return problems_of_records(options.recorded_in, request.notes);
  if (options.model.empty()) return given(wanted.layouts, wanted.types);
  return problems_of_model(wanted, request).map(over_m);
}

PlanRequest plan_request(const RequestOptions& options, std::vector<ProblemRange> problems) {
  PlanRequest request;
  request.problems = std::move(problems);
  request.architecture = options.arch;
  request.specialized = !options.generic_only;
  request.generic = !options.no_generic;
  request.target.num_sms = static_cast<std::int32_t>(options.num_sms);
  return request;
}

}  // namespace

Expected<Request> resolve(const RequestOptions& given_options, const GivenProblems& given, const OptionNames& names) {
  const auto launched = engines::read_launch(given_options.launch, names);
  if (!launched) return propagate(launched);
  const auto options = with_launch(given_options, *launched, given != nullptr, names);
  if (!options) return propagate(options);
  if (auto one = check_source(*options, given != nullptr, names); !one) return propagate(one);
  auto types = parse_types(options->dtype, names);
  if (!types) return propagate(types);
  if (options->m_min > options->m_max) {
    return refuse(fmt::format("{} {} is above {} {}", names.m_first, options->m_min, names.m_last, options->m_max));
  }
  auto layouts = parse_layouts(options->layout, names);
  if (!layouts) return propagate(layouts);

  const Understood wanted{
      *options, names, *std::move(layouts), *std::move(types), options->parallelism, *launched ? &**launched : nullptr};
  Request request;
  auto problems = problems_of_source(wanted, given, request);
  if (!problems) return propagate(problems);
  request.plan = plan_request(*options, *std::move(problems));
  return request;
}

std::string padding_mend(DataType type, std::int64_t size, const char* padding) {
  const auto padded = padded_size(type, size);
  return padded && *padded > size ? fmt::format("; {} to {} mends it", padding, *padded) : std::string();
}

}  // namespace cubinet::warmup
