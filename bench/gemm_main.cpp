// cubinet_bench_gemm: compares our kernels on the GPU of this machine with the recorded times of a peer.
// Exit codes: 0 all cases correct and timed, 1 a wrong result or an error, 2 wrong usage, 3 a launch hung, 4 no GPU.
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "gemm_run.hpp"
#include "outcome.hpp"
#include "util/machine.hpp"

namespace {

using namespace cubinet;

// The path of the default record: in the source tree, or, if that does not exist, relative to the current folder.
std::string default_cases() {
  const std::filesystem::path built = CUBINET_BENCH_CASES;
  return std::filesystem::exists(built) ? built.string() : "bench/cases/" + built.filename().string();
}

struct Arguments {
  std::string cases = default_cases();
  std::vector<std::string> filters;
  std::vector<std::string> configs;
  std::string cache;
  std::string json;
  bool no_check = false;
  bool only_variants = false;
  bool compile_only = false;
  bench::GemmOptions options;
};

void add_options(CLI::App& app, Arguments& arguments) {
  app.footer("Example: cubinet_bench_gemm --filter \"bf16 contig g32\" --config stages=5 --config cluster=2,band=8");
  app.add_option("--cases", arguments.cases, "Record file of the peer")->capture_default_str();
  app.add_option("--filter", arguments.filters, "Words that a case's name must hold, as \"fp8 masked g32\"; again: or")
      ->allow_extra_args(false);
  app.add_option("--config", arguments.configs,
                 "A variant to compare: [FILTER@]FIELD=NUMBER[,...] changes the selected configuration; fields:" +
                     bench::variant_fields())
      ->allow_extra_args(false);
  app.add_flag("--only-variants", arguments.only_variants, "Leave the selected configuration out");
  app.add_option("--rounds", arguments.options.rounds, "Rounds over all cases")->check(CLI::Range(1, 100));
  app.add_option("--budget-ms", arguments.options.budget_ms, "Timed milliseconds per case and round")
      ->capture_default_str();
  app.add_option("--pause-ms", arguments.options.pause_ms, "Pause before each timing; 0: by the case");
  app.add_option("--jobs", arguments.options.jobs, "Compile threads; 0: all cores");
  app.add_option("--seed", arguments.options.seed, "Of operands and group sizes; 0: a fresh one");
  app.add_option("--cache", arguments.cache, "Cabinet to find kernels in and to store them");
  app.add_option("--json", arguments.json, "File for the results");
  app.add_flag("--compile-only", arguments.compile_only,
               "Fill the cabinet for a run elsewhere (a device of 132 SMs) and stop; needs no GPU");
  app.add_flag("--no-check", arguments.no_check, "Do not compare with the reference");
}

Expected<void> complete(Arguments& arguments) {
  auto cases = bench::read_cases(arguments.cases);
  if (!cases) return propagate(cases);
  for (const auto& c : *cases) {
    bool wanted = arguments.filters.empty();
    for (const auto& filter : arguments.filters) wanted = wanted || bench::matches(c, filter);
    if (wanted) arguments.options.cases.push_back(c);
  }
  if (arguments.options.cases.empty()) return fail(ErrorCode::invalid_argument, "--filter: no case matches");
  for (const auto& text : arguments.configs) {
    auto variant = bench::parse_variant(text);
    if (!variant) return propagate(variant);
    arguments.options.variants.push_back(std::move(*variant));
  }
  arguments.options.check = !arguments.no_check;
  arguments.options.selected = !arguments.only_variants;
  if (arguments.options.seed == 0) arguments.options.seed = std::random_device{}();
  if (arguments.options.jobs == 0) arguments.options.jobs = util::usable_cores();
  return {};
}

std::string heading(const test::GpuSession& session, const Arguments& arguments) {
  int driver_version = 0;
  static_cast<void>(session.device->driver().cuDriverGetVersion(&driver_version));
  const auto& info = session.device->info();
  return fmt::format("{}, {} SMs, driver API {}.{}, NVRTC {}, {:%Y-%m-%d %H:%M}, seed {}, {} rounds\n", info.name,
                     info.num_sms, driver_version / 1000, driver_version % 1000 / 10, session.compiler->version(),
                     fmt::gmtime(std::time(nullptr)), arguments.options.seed, arguments.options.rounds);
}

bool write_json(const Arguments& arguments, const std::string& head, const bench::GemmResult& result) {
  if (arguments.json.empty()) return true;
  std::ofstream out(arguments.json);
  const nlohmann::json object = {{"heading", head},
                                 {"empty_kernel_us", result.empty_us},
                                 {"all_right", result.all_right},
                                 {"measurements", bench::to_json(result.measurements)}};
  out << object.dump(1) << "\n";
  out.close();
  if (!out) fmt::print(stderr, "cannot write {}\n", arguments.json);
  return static_cast<bool>(out);
}

int compile_only(const Arguments& arguments) {
  auto compiler = jit::NvrtcCompiler::open({});
  if (!compiler) return bench::report_error(compiler.error());
  auto cabinet = cache::Cabinet::open(arguments.cache, true);
  if (!cabinet) return bench::report_error(cabinet.error());
  const auto report =
      bench::compile_all(bench::kernels_of(arguments.options), **compiler, &*cabinet, arguments.options.jobs);
  for (const auto& failure : report.failed) bench::report_error(failure.error);
  fmt::print("{} kernels compiled, {} found, {} failed, {} not begun, {:.1f} s\n", report.compiled, report.hits,
             report.failed.size(), report.remaining.size(), report.seconds);
  return report.failed.empty() && report.remaining.empty() ? 0 : 1;
}

int run(int argc, char** argv) {
  CLI::App app("Times grouped GEMMs on this GPU against recorded figures of a peer");
  Arguments arguments;
  arguments.options.jobs = 0;
  add_options(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? 0 : 2;
  }
  if (const auto status = complete(arguments); !status) return bench::report_error(status.error());
  if (arguments.compile_only) return compile_only(arguments);
  auto session = test::GpuSession::open(arguments.cache, {});
  if (!session) return bench::report_error(session.error());
  const std::string head = heading(*session, arguments);
  const auto result = bench::run_gemm(*session, arguments.options);
  if (!result) return bench::report_error(result.error());
  fmt::print("{}empty kernel, event to event: {:.2f} us\n\n{}\n{}", head, result->empty_us,
             bench::table(result->measurements), bench::geomeans(result->measurements));
  return write_json(arguments, head, *result) && result->all_right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::exit_code_of([&] { return run(argc, argv); });
}
