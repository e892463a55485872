// Tests of a service on a fake device, built from its options as by cubinet::start.
#include "cache/bundle_transfer.hpp"
#include "catch.hpp"
#include "engine_world.hpp"
#include "jit/kernel_store.hpp"
#include "unit/cache/bundle_builder.hpp"

using namespace cubinet;
namespace fs = std::filesystem;

namespace {

const std::vector<ProblemRange> problems{{{.layout = Layout::masked, .n = 512, .k = 256, .groups = 4}, {1, 16384}}};

// Creates a bundle with the kernels that the problems need, without a root. Returns the number of kernels.
std::int64_t make_bundle(const test::TempFolder& folder, const fs::path& file,
                         const std::optional<cache::SigningKey>& key = {}, const std::string& nvrtc = "13.0.88") {
  test::World world;
  world.version = nvrtc;
  StartReport report;
  { REQUIRE(jit::Engine(test::parts_with_cabinet(world, folder)).prepare(problems, &report)); }
  auto cabinet = cache::Cabinet::open(folder / "root", false).value();
  std::vector<cache::Key> keys;
  const auto entries = test::entries_of(cabinet).value();
  for (const auto& entry : entries) keys.push_back(entry.key);
  REQUIRE(cache::export_bundle(cache::Maintenance(cabinet), keys, file, key));
  fs::remove_all(folder / "root");
  return report.loaded;
}

// Options with these layers and without compilation.
ServiceOptions options_with(const std::vector<std::string>& layers) {
  ServiceOptions options;
  options.layers = layers;
  options.miss = MissPolicy::error;
  return options;
}

auto start(const ServiceOptions& options, StartReport& report, int driver_version = 13000) {
  auto context = test::make_fake_context();
  test::fake_device().driver_version = driver_version;
  return jit::Engine(jit::parts_of(options, std::move(context))).prepare(problems, &report);
}

}  // namespace

TEST_CASE("A service starts from a bundle, with or without a root") {
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

TEST_CASE("A service that compiles without a cache folder warns that nothing is stored") {
  ServiceOptions options;
  options.miss = MissPolicy::compile;
  CHECK(jit::parts_of(options, test::make_fake_context()).cabinet_problem.find("not stored") != std::string::npos);
  options.miss = MissPolicy::error;
  CHECK(jit::parts_of(options, test::make_fake_context()).cabinet_problem.empty());
}

TEST_CASE("A service uses a bundle signed with its key, and reports why another one is ignored") {
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

TEST_CASE("A start reports the compilers of its kernels, and warns if one is not accepted") {
  const test::TempFolder folder;
  const std::int64_t kernels = make_bundle(folder, folder / "accepted");
  make_bundle(folder, folder / "other", {}, "13.5.37");
  StartReport report;
  REQUIRE(start(options_with({(folder / "accepted").string()}), report));
  CHECK(report.compilers == "NVRTC 13.0.88");
  CHECK(report.warning.empty());
  ServiceOptions compiles = options_with({(folder / "other").string()});
  compiles.miss = MissPolicy::compile;
  REQUIRE(start(compiles, report));
  CHECK(report.loaded == kernels);
  CHECK(report.compiled == 0);
  CHECK(report.compilers == "NVRTC 13.5.37");
  CHECK(report.warning.find("made by NVRTC 13.5.37, which this build of Cubinet was not tested with") !=
        std::string::npos);
}

TEST_CASE("If two layers have a kernel, the one of the better compiler is used, whatever their order") {
  const test::TempFolder folder;
  make_bundle(folder, folder / "accepted");
  make_bundle(folder, folder / "other", {}, "13.5.37");
  StartReport report;
  REQUIRE(start(options_with({(folder / "other").string(), (folder / "accepted").string()}), report));
  CHECK(report.compilers == "NVRTC 13.0.88");
  CHECK(report.warning.empty());
}

TEST_CASE("An entry that the driver cannot load is skipped and reported") {
  const test::TempFolder folder;
  const std::int64_t kernels = make_bundle(folder, folder / "13");
  make_bundle(folder, folder / "12", {}, "12.9.86");
  StartReport report;
  const auto refused = start(options_with({(folder / "13").string()}), report, 12040);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::not_prepared);
  CHECK(refused.error().message.find("made by NVRTC 13.0.88, and this driver takes CUDA 12.4 at most") !=
        std::string::npos);
  REQUIRE(start(options_with({(folder / "13").string(), (folder / "12").string()}), report, 12040));
  CHECK(report.loaded == kernels);
  CHECK(report.compilers == "NVRTC 12.9.86");
  CHECK(report.warning.empty());
}
