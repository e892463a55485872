// A service as its user asks for it, but on a fake device: cubinet::start is this and the driver's own.
#include "jit/service_parts.hpp"

#include "cache/bundle_transfer.hpp"
#include "catch.hpp"
#include "engine_world.hpp"
#include "unit/cache/bundle_builder.hpp"

using namespace cubinet;
namespace fs = std::filesystem;

namespace {

const std::vector<ProblemRange> problems{{{.layout = Layout::masked, .n = 512, .k = 256, .groups = 4}, {1, 16384}}};

// A bundle of what the problems need, and no root beside it. How many kernels.
std::int64_t make_bundle(const test::TempFolder& folder, const fs::path& file,
                         const std::optional<cache::SigningKey>& key = {}) {
  test::World world;
  StartReport report;
  { REQUIRE(jit::Engine(test::parts_with_cabinet(world, folder)).prepare(problems, &report)); }
  auto cabinet = cache::Cabinet::open(folder / "root", false).value();
  std::vector<cache::Key> keys;
  const auto entries = cabinet.list().value();
  for (const auto& entry : entries) keys.push_back(entry.key);
  REQUIRE(cache::export_bundle(cabinet, keys, file, key));
  fs::remove_all(folder / "root");
  return report.loaded;
}

// Which compiles nothing.
ServiceOptions options_with(const std::vector<std::string>& layers) {
  ServiceOptions options;
  options.layers = layers;
  options.miss = MissPolicy::error;
  return options;
}

auto start(const ServiceOptions& options, StartReport& report) {
  return jit::Engine(jit::parts_of(options, test::make_fake_context())).prepare(problems, &report);
}

}  // namespace

TEST_CASE("A service starts from a bundle alone, with a root of its own beside it or without") {
  const test::TempFolder folder;
  const std::int64_t kernels = make_bundle(folder, folder / "bundle");
  for (const std::string& root : {std::string(), (folder / "own").string()}) {
    ServiceOptions options = options_with({(folder / "bundle").string()});
    options.cache_root = root;
    StartReport report;
    REQUIRE(start(options, report));
    CHECK(report.loaded == kernels);
    CHECK(report.missing == 0);
    CHECK(report.compiled == 0);
    CHECK(report.warning.empty());
  }
}

TEST_CASE("A service that compiles and is given no folder says that nothing is stored") {
  ServiceOptions options;
  options.miss = MissPolicy::compile;
  CHECK(jit::parts_of(options, test::make_fake_context()).cabinet_problem.find("not stored") != std::string::npos);
  options.miss = MissPolicy::error;
  CHECK(jit::parts_of(options, test::make_fake_context()).cabinet_problem.empty());
}

TEST_CASE("A service takes a bundle that its key has signed, and says of another one why it is left out") {
  const test::Keys keys;
  const test::TempFolder folder;
  const std::int64_t kernels = make_bundle(folder, folder / "good", keys.signing());
  make_bundle(folder, folder / "bare");
  ServiceOptions options = options_with({(folder / "bare").string()});
  options.bundle_key = keys.public_file();
  StartReport report;
  const auto refused = start(options, report);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::not_prepared);
  options.layers.push_back((folder / "good").string());
  REQUIRE(start(options, report));
  CHECK(report.loaded == kernels);
  CHECK(report.warning.find((folder / "bare").native() + " is refused: it is not signed") != std::string::npos);
}
