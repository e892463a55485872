// cubinet_bench_engine: compares the start of an engine from a warm root with bare driver loads, and a launch with a
// bare cuLaunchKernelEx.
// Exit codes: 0 success, 1 an error, 2 wrong usage. Needs a GPU.
#include <filesystem>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "engine_run.hpp"
#include "outcome.hpp"

namespace {

using namespace cubinet;

int run(int argc, char** argv) {
  CLI::App app("Times an engine's start and its launches against the driver's bare calls");
  app.footer("Example: cubinet_bench_engine --cache /tmp/cabinet");
  bench::EngineOptions options;
  options.cache = (std::filesystem::temp_directory_path() / "cubinet-bench-engine").string();
  app.add_option("--cache", options.cache, "Cabinet; warmed first")->capture_default_str();
  app.add_option("--rounds", options.rounds, "Starts, of which the median counts")->check(CLI::Range(1, 1000));
  app.add_option("--launches", options.launches, "Launches timed together")->check(CLI::Range(1, 1000));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? 0 : 2;
  }
  const auto result = bench::run_engine(options);
  if (!result) return bench::report_error(result.error());
  fmt::print(
      "start of {} kernels, without the context  {:8.2f} ms\n"
      "bare loads of the same cubins             {:8.2f} ms\n"
      "host time of a launch                     {:8.2f} us\n"
      "  with another capacity each time          {:8.2f} us\n"
      "host time of a bare cuLaunchKernelEx      {:8.2f} us\n",
      result->kernels, result->start_ms, result->bare_load_ms, result->launch_us, result->fresh_launch_us,
      result->bare_launch_us);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::exit_code_of([&] { return run(argc, argv); });
}
