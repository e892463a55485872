#include "jit/engine.hpp"

#include <limits>
#include <set>
#include <stdexcept>

#include "cache/bundle_transfer.hpp"
#include "catch.hpp"
#include "engine_world.hpp"
#include "jit/families/registry.hpp"
#include "jit/provide.hpp"
#include "unit/cache/support.hpp"

using namespace cubinet;
using test::parts_for;
using test::parts_with_cabinet;
using test::World;

namespace {

constexpr Problem kProblem{.layout = Layout::masked, .n = 512, .k = 256, .groups = 4};
constexpr Problem kQuantizedProblem{DataType::fp8, Layout::masked, 512, 256, 4};
constexpr MRange kRange{1, 16384};

// The number of distinct kernels that the problem selects over the range.
std::int64_t count_kernels(const Problem& problem, MRange range) {
  std::set<jit::KernelSpec> specs;
  for (const auto& selection : jit::families().selections(problem, range)) specs.insert(selection.spec);
  return static_cast<std::int64_t>(specs.size());
}

// Checks that the engine finds every kernel of the problem and compiles none.
void check_all_found(jit::Engine& engine, const Problem& problem, std::int64_t kernels) {
  StartReport report;
  REQUIRE(engine.prepare(problem, kRange, &report));
  CHECK(report.compiled == 0);
  CHECK(report.loaded - report.compiled == kernels);
}

}  // namespace

TEST_CASE("An engine compiles each kernel of a problem once and finds it at the next start") {
  const test::TempFolder folder;
  World world;
  const std::int64_t kernels = count_kernels(kProblem, kRange);
  StartReport report;
  {
    jit::Engine engine(parts_with_cabinet(world, folder));
    REQUIRE(engine.prepare(kProblem, kRange, &report));
    CHECK(report.compiled == kernels);
    CHECK(report.loaded - report.compiled == 0);
    CHECK(report.warning.empty());
    CHECK(report.milliseconds > 0);
  }
  jit::Engine engine(parts_with_cabinet(world, folder));
  check_all_found(engine, kProblem, kernels);
  CHECK(world.calls == kernels);
}

TEST_CASE("A warm engine never opens the compiler") {
  const test::TempFolder folder;
  World world;
  { REQUIRE(jit::Engine(parts_with_cabinet(world, folder)).prepare(kProblem, kRange, nullptr)); }
  world.installed = false;
  jit::Engine engine(parts_with_cabinet(world, folder));
  CHECK(engine.prepare(kProblem, kRange, nullptr));
  CHECK(world.opened == 1);
}

TEST_CASE("An engine without a root starts from a bundle and compiles nothing") {
  const test::TempFolder folder;
  World world;
  { REQUIRE(jit::Engine(parts_with_cabinet(world, folder)).prepare(kProblem, kRange, nullptr)); }
  const std::int64_t compiled = world.calls;
  auto cabinet = cache::Cabinet::open(folder / "root", false).value();
  std::vector<cache::Key> keys;
  const auto entries = test::entries_of(cabinet).value();
  for (const auto& entry : entries) keys.push_back(entry.key);
  REQUIRE(cache::export_bundle(cache::Maintenance(cabinet), keys, folder / "bundle", {}));
  jit::EngineParts parts = parts_for(world);
  parts.cabinet = cache::Cabinet::open_stack({}, false, {folder / "bundle"}).value().cabinet;
  jit::Engine engine(std::move(parts));
  check_all_found(engine, kProblem, count_kernels(kProblem, kRange));
  CHECK(world.calls == compiled);
}

TEST_CASE("Entries that one NVRTC made are found with any other NVRTC, which is not opened") {
  const test::TempFolder folder;
  World world;
  world.version = "13.0.88";
  { REQUIRE(jit::Engine(parts_with_cabinet(world, folder)).prepare(kProblem, kRange, nullptr)); }
  const int calls = world.calls;
  const int opened = world.opened;
  for (const char* version : {"13.2.78", "13.5.37", "13.0.48", "12.9.86"}) {
    world.version = version;
    StartReport report;
    jit::Engine engine(parts_with_cabinet(world, folder));
    REQUIRE(engine.prepare(kProblem, kRange, &report));
    CHECK(report.compiled == 0);
  }
  CHECK(world.calls == calls);
  CHECK(world.opened == opened);
}

TEST_CASE("A miss without NVRTC is an error with the places searched, until NVRTC is installed") {
  World world;
  world.installed = false;
  jit::Engine engine(parts_for(world));
  const auto gemm = engine.prepare(kProblem, kRange, nullptr);
  REQUIRE_FALSE(gemm);
  CHECK(gemm.error().code == ErrorCode::compiler_missing);
  CHECK(gemm.error().message.find("looked in /x") != std::string::npos);
  world.installed = true;
  CHECK(engine.prepare(kProblem, kRange, nullptr));
}

TEST_CASE("A miss with too little memory is an error and NVRTC is not opened, unless jobs are given") {
  const test::TempFolder folder;
  World world;
  const auto limited = [&](int jobs) {
    auto parts = parts_with_cabinet(world, folder);
    parts.jobs = jobs;
    parts.memory_rooms = [] {
      return std::vector<util::MemoryRoom>{{util::MemoryKind::resident, 1 << 20, "memory.max of /small"}};
    };
    return parts;
  };
  jit::Engine engine(limited(0));
  const auto refused = engine.prepare(kProblem, {1, 64}, nullptr);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::out_of_memory);
  CHECK(refused.error().message.find("1 MiB are left by memory.max of /small") != std::string::npos);
  CHECK(world.opened == 0);
  jit::Engine told(limited(1));
  REQUIRE(told.prepare(kProblem, {1, 64}, nullptr));
  CHECK(world.opened == 1);
  jit::Engine warm(limited(0));
  CHECK(warm.prepare(kProblem, {1, 64}, nullptr));
  CHECK(world.opened == 1);
}

TEST_CASE("Problems that differ only in groups share their kernels") {
  World world;
  jit::Engine engine(parts_for(world));
  REQUIRE(engine.prepare(kProblem, kRange, nullptr));
  const int calls = world.calls;
  const std::size_t loaded = test::fake_device().loaded.size();
  Problem other = kProblem;
  other.groups = 9;
  StartReport report;
  REQUIRE(engine.prepare(other, kRange, &report));
  CHECK(world.calls == calls);
  CHECK(test::fake_device().loaded.size() == loaded);
  CHECK(report.loaded - report.compiled == count_kernels(other, kRange));
}

TEST_CASE("The launched kernel is the one selected for this M and device") {
  World world;
  jit::Engine engine(parts_for(world));
  const auto gemm = engine.prepare(kProblem, kRange, nullptr);
  REQUIRE(gemm);
  CHECK(gemm->problem() == kProblem);
  CHECK(gemm->range() == kRange);
  for (std::int64_t m = kRange.first; m <= kRange.last; m = m * 3 / 2 + 1) {
    CHECK(gemm->kernel_for(m)->spec() == jit::families().select(kProblem, m));
  }
  CHECK(gemm->kernel_for(kRange.last)->spec() == jit::families().select(kProblem, kRange.last));
}

TEST_CASE("Kernels stay loaded until the engine and every problem are destroyed") {
  World world;
  auto engine = std::make_unique<jit::Engine>(parts_for(world));
  auto gemm = std::make_unique<jit::PreparedGemm>(*engine->prepare(kProblem, kRange, nullptr));
  engine.reset();
  CHECK(test::fake_device().unloaded == 0);
  CHECK(test::fake_device().retained == 1);
  gemm.reset();
  CHECK(test::fake_device().unloaded == static_cast<int>(test::fake_device().loaded.size()));
  CHECK(test::fake_device().retained == 0);
}

TEST_CASE("A problem that breaks a rule is refused before anything is compiled") {
  World world;
  jit::Engine engine(parts_for(world));
  Problem broken = kProblem;
  broken.k = 100;
  const auto gemm = engine.prepare(broken, kRange, nullptr);
  REQUIRE_FALSE(gemm);
  CHECK(gemm.error().code == ErrorCode::unsupported);
  CHECK(world.opened == 0);
}

TEST_CASE("An empty range is refused") {
  World world;
  jit::Engine engine(parts_for(world));
  for (const MRange range : {MRange{0, 8}, MRange{-5, 8}, MRange{9, 8}}) {
    const auto gemm = engine.prepare(kProblem, range, nullptr);
    REQUIRE_FALSE(gemm);
    CHECK(gemm.error().code == ErrorCode::invalid_argument);
  }
}

TEST_CASE("A device of another architecture is refused before a kernel is loaded") {
  World world;
  jit::EngineParts parts = parts_for(world);
  const auto driver = parts.device->shared_driver();
  for (const auto& [major, minor] : {std::pair{8, 0}, std::pair{9, 1}, std::pair{10, 0}, std::pair{12, 0}}) {
    test::fake_device().compute_major = major;
    test::fake_device().compute_minor = minor;
    auto device = jit::DeviceContext::retain(driver, 0);
    REQUIRE(device);
    parts.device = std::make_shared<const jit::DeviceContext>(std::move(*device));
    jit::Engine engine(std::move(parts));
    const auto gemm = engine.prepare(kProblem, kRange, nullptr);
    REQUIRE_FALSE(gemm);
    CHECK(gemm.error().code == ErrorCode::wrong_device);
    CHECK(gemm.error().message.find("Fake GPU") != std::string::npos);
    parts = {};
  }
  CHECK(test::fake_device().loaded.empty());
  CHECK(world.opened == 0);
}

TEST_CASE("Code for another architecture is refused by the loader") {
  const auto device = test::make_fake_context();
  for (const char* name : {"sm_90", "sm_100a", ""}) {
    const auto module = jit::LoadedModule::load(device, "cubin", name);
    REQUIRE_FALSE(module);
    CHECK(module.error().code == ErrorCode::wrong_device);
  }
  CHECK(test::fake_device().loaded.empty());
}

TEST_CASE("A failed compilation is an error with the log, and a later attempt can succeed") {
  World world;
  world.fails = true;
  jit::Engine engine(parts_for(world));
  const auto gemm = engine.prepare(kProblem, kRange, nullptr);
  REQUIRE_FALSE(gemm);
  CHECK(gemm.error().code == ErrorCode::compile_failed);
  CHECK(gemm.error().detail == "line 1: error");
  CHECK(test::fake_device().loaded.empty());
  world.fails = false;
  CHECK(engine.prepare(kProblem, kRange, nullptr));
}

TEST_CASE("A cabinet that cannot be used causes a warning in the report") {
  World world;
  jit::EngineParts parts = parts_for(world);
  parts.cabinet_problem = "/x is no cabinet";
  jit::Engine engine(std::move(parts));
  StartReport report;
  REQUIRE(engine.prepare(kProblem, kRange, &report));
  CHECK(report.warning == "/x is no cabinet");
  CHECK(report.compiled > 0);
}

TEST_CASE("A start warns about damaged entries that it finds, and a later start does not") {
  const test::TempFolder folder;
  World world;
  { REQUIRE(jit::Engine(parts_with_cabinet(world, folder)).prepare(kProblem, kRange, nullptr)); }
  const auto root = cache::Cabinet::open(folder / "root", false)->root();
  const auto key = cache::Maintenance::open(root)->survey()->entries.front().key;
  test::write_file(cache::Layout{root}.object(key), "damaged");
  StartReport report;
  { REQUIRE(jit::Engine(parts_with_cabinet(world, folder)).prepare(kProblem, kRange, &report)); }
  CHECK(report.warning.find("1 damaged entry was set aside") != std::string::npos);
  CHECK(report.compiled == 1);
  { REQUIRE(jit::Engine(parts_with_cabinet(world, folder)).prepare(kProblem, kRange, &report)); }
  CHECK(report.warning.empty());
}

TEST_CASE("Preparing an FP8 problem includes the quantization kernels, which are counted like the others") {
  const test::TempFolder folder;
  World world;
  const std::int64_t kernels = count_kernels(kQuantizedProblem, kRange) + 1;
  StartReport report;
  {
    jit::Engine engine(parts_with_cabinet(world, folder));
    REQUIRE(engine.prepare(kQuantizedProblem, kRange, &report));
    CHECK(report.compiled == kernels);
    CHECK(report.loaded - report.compiled == 0);
    check_all_found(engine, kQuantizedProblem, kernels);
    REQUIRE(engine.prepare_quantizer(&report));
    CHECK(report.compiled == 0);
    CHECK(report.loaded - report.compiled == 1);
  }
  jit::Engine engine(parts_with_cabinet(world, folder));
  check_all_found(engine, kQuantizedProblem, kernels);
  CHECK(world.calls == kernels);
}

TEST_CASE("Preparing a BF16 problem does not include the quantization kernels") {
  World world;
  jit::Engine engine(parts_for(world));
  REQUIRE(engine.prepare(kProblem, kRange, nullptr));
  for (const std::string& name : test::fake_device().entry_points) CHECK(name == "bf16_grouped_masked");
}

TEST_CASE("The quantizer is compiled once, found in the cabinet afterwards, and loaded once") {
  const test::TempFolder folder;
  World world;
  StartReport report;
  {
    jit::Engine engine(parts_with_cabinet(world, folder));
    REQUIRE(engine.prepare_quantizer(&report));
    CHECK(report.compiled == 1);
    CHECK(report.loaded - report.compiled == 0);
    CHECK(report.milliseconds > 0);
    REQUIRE(engine.prepare_quantizer(&report));
    CHECK(report.loaded - report.compiled == 1);
    CHECK(test::fake_device().loaded.size() == 1);
  }
  jit::Engine engine(parts_with_cabinet(world, folder));
  REQUIRE(engine.prepare_quantizer(&report));
  CHECK(report.compiled == 0);
  CHECK(report.loaded - report.compiled == 1);
  CHECK(world.calls == 1);
}

TEST_CASE("A quantizer outlives its engine") {
  World world;
  auto engine = std::make_unique<jit::Engine>(parts_for(world));
  auto quantizer = std::make_unique<jit::PreparedQuantizer>(*engine->prepare_quantizer(nullptr));
  engine.reset();
  CHECK(test::fake_device().unloaded == 0);
  CHECK(test::fake_device().retained == 1);
  quantizer.reset();
  CHECK(test::fake_device().unloaded == 1);
  CHECK(test::fake_device().retained == 0);
}

TEST_CASE("A quantizer that cannot be compiled is an error with the reason") {
  World world;
  world.installed = false;
  jit::Engine engine(parts_for(world));
  const auto missing = engine.prepare_quantizer(nullptr);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::compiler_missing);
  world.installed = world.fails = true;
  const auto failed = engine.prepare_quantizer(nullptr);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == ErrorCode::compile_failed);
  CHECK(failed.error().message.find("fp8_quantization") != std::string::npos);
  world.fails = false;
  CHECK(engine.prepare_quantizer(nullptr));
}

TEST_CASE("From a root with several architectures a device loads only kernels for its own") {
  const test::TempFolder folder;
  World world;
  const auto selections = jit::families().selections(kProblem, kRange);
  {
    auto parts = parts_with_cabinet(world, folder);
    test::FakeCompiler compiler("13.0");
    for (auto selection : selections) {
      selection.spec.architecture = "sm_100a";
      REQUIRE(jit::provide(selection.spec, compiler, &*parts.cabinet));
    }
  }
  jit::EngineParts strict = parts_with_cabinet(world, folder);
  strict.miss = MissPolicy::error;
  const auto refused = jit::Engine(std::move(strict)).prepare(kProblem, kRange, nullptr);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::not_prepared);
  CHECK(test::fake_device().loaded.empty());

  StartReport report;
  jit::Engine engine(parts_with_cabinet(world, folder));
  REQUIRE(engine.prepare(kProblem, kRange, &report));
  CHECK(report.loaded - report.compiled == 0);
  CHECK(report.compiled == count_kernels(kProblem, kRange));
  auto cabinet = cache::Cabinet::open(folder.path() / "root", false);
  REQUIRE(cabinet);
  const auto entries = test::entries_of(*cabinet);
  REQUIRE(entries);
  CHECK(entries->size() == 2 * static_cast<std::size_t>(report.compiled));
}

TEST_CASE("A start counts hits and misses, and protects loaded entries from eviction while the engine exists") {
  const test::TempFolder folder;
  World world;
  const std::int64_t kernels = count_kernels(kProblem, kRange);
  { REQUIRE(jit::Engine(parts_with_cabinet(world, folder)).prepare(kProblem, kRange, nullptr)); }
  auto cabinet = cache::Cabinet::open(folder.path() / "root", false).value();
  CHECK(cache::Maintenance(cabinet).stats()->counters == cache::Counters{.misses = kernels, .compiles = kernels});
  {
    jit::Engine engine(parts_with_cabinet(world, folder));
    check_all_found(engine, kProblem, kernels);
    const auto kept = cache::Maintenance(cabinet).collect({.bytes = 1}, false);
    REQUIRE(kept);
    CHECK(kept->decision.evictions.empty());
    CHECK(kept->decision.over);
  }
  CHECK(cache::Maintenance(cabinet).stats()->counters.hits == kernels);
  CHECK(cache::Maintenance(cabinet).stats()->hits == kernels);
  CHECK(cache::Maintenance(cabinet).collect({.bytes = 1}, false)->decision.evictions.size() ==
        static_cast<std::size_t>(kernels));
  { REQUIRE(jit::Engine(parts_with_cabinet(world, folder)).prepare(kProblem, kRange, nullptr)); }
  CHECK(cache::Maintenance(cabinet).stats()->counters.evicted_misses == kernels);
}

TEST_CASE("With the policy error the misses of a start are counted") {
  const test::TempFolder folder;
  World world;
  jit::EngineParts parts = parts_with_cabinet(world, folder);
  parts.miss = MissPolicy::error;
  { REQUIRE_FALSE(jit::Engine(std::move(parts)).prepare(kProblem, kRange, nullptr)); }
  auto cabinet = cache::Cabinet::open(folder.path() / "root", false).value();
  CHECK(cache::Maintenance(cabinet).stats()->counters == cache::Counters{.misses = count_kernels(kProblem, kRange)});
}

TEST_CASE("A failed compilation counts as a miss and not as a compilation") {
  const test::TempFolder folder;
  World world;
  world.fails = true;
  { REQUIRE_FALSE(jit::Engine(parts_with_cabinet(world, folder)).prepare(kProblem, kRange, nullptr)); }
  auto cabinet = cache::Cabinet::open(folder.path() / "root", false).value();
  CHECK(cache::Maintenance(cabinet).stats()->counters == cache::Counters{.misses = count_kernels(kProblem, kRange)});
}
