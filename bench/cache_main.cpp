// cubinet_bench_cache: times a hit in the cabinet, and opening and listing a root with few or many entries. Needs no
// GPU.
// Exit codes: 0 success, 1 an error, 2 wrong usage.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cache_run.hpp"
#include "outcome.hpp"

namespace {

using namespace cubinet;

int run(int argc, char** argv) {
  CLI::App app("Times look-ups in roots of its own, which it removes");
  app.footer("Example: cubinet_bench_cache --place /tmp --entries 100 100000");
  bench::CacheOptions options;
  std::string place = std::filesystem::temp_directory_path().string();
  app.add_option("--place", place, "Folder for the roots")->capture_default_str();
  app.add_option("--entries", options.sizes,
                 "Sizes of the roots, ascending; so many entries as the first are looked up")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--kib", options.payload_kib, "Size of an entry that is looked up, in KiB")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "Repetitions, of which the median counts")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? 0 : 2;
  }
  options.place = place;
  const auto result = bench::run_cache(options);
  if (!result) return bench::report_error(result.error());
  fmt::print("medians of {}, entries of {} KiB, in us\n", options.rounds, options.payload_kib);
  fmt::print("entries   open root    list all      hit  of it: read  SHA-256\n");
  for (const auto& figures : *result) {
    fmt::print("{:7}  {:10.1f}  {:10.0f}  {:7.1f}  {:11.1f}  {:7.1f}\n", figures.entries, figures.open_us,
               figures.list_us, figures.hit_us, figures.read_us, figures.digest_us);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::exit_code_of([&] { return run(argc, argv); });
}
