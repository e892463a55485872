// cubinet_bench_compile: times NVRTC, and ptxas alone, for the kernels of a problem or a model.
// Exit codes: 0 success, 1 an error, 2 wrong usage. Needs no GPU.
#include <fstream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "compile_run.hpp"
#include "outcome.hpp"
#include "ptxas.hpp"
#include "warmup/planning/model_problems.hpp"

namespace {

using namespace cubinet;

struct Arguments {
  std::int64_t n = 4096;
  std::int64_t k = 7168;
  std::int32_t groups = 32;
  std::string model;
  warmup::Parallelism parallelism;
  std::int64_t m_max = 16384;
  std::vector<std::string> types{"bf16"};
  std::vector<int> jobs{1, 2};
  int times = 3;
  std::string json;
};

void add_options(CLI::App& app, Arguments& arguments) {
  app.footer("Example: cubinet_bench_compile --model examples/models/deepseek-v3/config.json --ep 8");
  app.add_option("--n", arguments.n, "N of the problem")->capture_default_str();
  app.add_option("--k", arguments.k, "K of the problem")->capture_default_str();
  app.add_option("--groups", arguments.groups, "Its groups")->capture_default_str();
  app.add_option("--model", arguments.model, "A model's config.json in the place of one problem");
  app.add_option("--ep", arguments.parallelism.expert, "Expert parallelism of the model");
  app.add_option("--tp", arguments.parallelism.tensor, "Tensor parallelism of the model");
  app.add_option("--dtype", arguments.types, "Types of the operands")
      ->delimiter(',')
      ->check(CLI::IsMember({"bf16", "fp8"}))
      ->capture_default_str();
  app.add_option("--m-max", arguments.m_max, "Largest M")->capture_default_str();
  app.add_option("--jobs", arguments.jobs, "Thread counts for the whole plan")->delimiter(',')->capture_default_str();
  app.add_option("--times", arguments.times, "Runs of which the fastest counts")->check(CLI::Range(1, 100));
  app.add_option("--json", arguments.json, "File for the results");
}

Expected<warmup::Plan> plan_for(const Arguments& arguments) {
  const std::vector<Layout> layouts{Layout::contiguous, Layout::masked};
  std::vector<DataType> types;
  for (const auto& name : arguments.types) types.push_back(name == "fp8" ? DataType::fp8 : DataType::bf16);
  warmup::PlanRequest request;
  std::vector<Problem> problems;
  if (arguments.model.empty()) {
    for (const DataType type : types) {
      for (const Layout layout : layouts) {
        problems.push_back({type, layout, arguments.n, arguments.k, arguments.groups});
      }
    }
  } else {
    const auto shape = warmup::read_model(arguments.model);
    if (!shape) return propagate(shape);
    auto of_model = warmup::problems_of(*shape, arguments.parallelism, layouts, types);
    if (!of_model) return propagate(of_model);
    problems = *std::move(of_model);
  }
  request.problems = warmup::over_range(problems, {1, arguments.m_max});
  return warmup::make_plan(request);
}

Expected<void> time_all(const Arguments& arguments) {
  const auto plan = plan_for(arguments);
  if (!plan) return propagate(plan);
  const auto compiler = jit::NvrtcCompiler::open({});
  if (!compiler) return propagate(compiler);
  const auto ptxas = bench::find_ptxas();
  if (!ptxas) fmt::print(stderr, "{}: its column stays empty\n", ptxas.error().message);
  const auto result = bench::time_compilation(*plan, **compiler, ptxas ? *ptxas : std::filesystem::path(),
                                              arguments.jobs, arguments.times);
  if (!result) return propagate(result);
  fmt::print("NVRTC {} at {}, ptxas {}, fastest of {}\n{}", (*compiler)->version(), (*compiler)->location().path,
             ptxas ? ptxas->string() : "-", arguments.times, bench::table(*result));
  if (arguments.json.empty()) return {};
  std::ofstream out(arguments.json);
  out << bench::to_json(*result).dump(1) << "\n";
  out.close();
  if (!out) return fail(ErrorCode::io, "cannot write " + arguments.json);
  return {};
}

int run(int argc, char** argv) {
  CLI::App app("Times the compilation of kernels, without a GPU");
  Arguments arguments;
  add_options(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? 0 : 2;
  }
  const auto status = time_all(arguments);
  return status ? 0 : bench::report_error(status.error());
}

}  // namespace

int main(int argc, char** argv) {
  return bench::exit_code_of([&] { return run(argc, argv); });
}
