// Tests of launches whose kernel is missing.
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "engine_world.hpp"
#include "jit/families/registry.hpp"
#include "jit/provide.hpp"

using namespace cubinet;
using test::aligned_pointer;
using test::parts_for;
using test::parts_with_cabinet;
using test::World;

namespace {

constexpr Problem kMissing{.layout = Layout::contiguous, .n = 512, .k = 256, .groups = 2};
constexpr Problem kMissingFp8{DataType::fp8, Layout::contiguous, 512, 256, 2};
// Different configurations are selected for these M.
constexpr std::int64_t kFew = 1024, kMany = 100'000;
constexpr std::chrono::seconds kLong{30};

CUstream some_stream() { return reinterpret_cast<CUstream>(0x77); }

ContiguousArguments arguments(std::int64_t m) {
  ContiguousArguments made;
  made.a = made.b = aligned_pointer();
  made.d = const_cast<void*>(aligned_pointer());
  made.m_indices = static_cast<const std::int32_t*>(aligned_pointer());
  made.m = m;
  return made;
}

jit::KernelSpec selected(const Problem& problem, std::int64_t m) { return jit::families().select(problem, m); }

// Stores kernels in the cabinet of `folder`, as a warmup does.
void warm(const test::TempFolder& folder, const std::vector<jit::KernelSpec>& specs) {
  World world;
  auto parts = parts_with_cabinet(world, folder);
  test::FakeCompiler compiler("13.0");
  for (const auto& spec : specs) REQUIRE(jit::provide(spec, compiler, &*parts.cabinet));
}

jit::EngineParts with_policy(jit::EngineParts parts, MissPolicy miss) {
  parts.miss = miss;
  return parts;
}

// The payload of the latest launch's kernel.
std::string launched_payload() {
  const auto& device = test::fake_device();
  const std::size_t entry = reinterpret_cast<std::uintptr_t>(device.launched) - 0x10000;
  // Each library of a GEMM has one entry point, in the order of loading.
  return device.loaded.at(entry);
}

}  // namespace

TEST_CASE("A launch outside the prepared range compiles the selected kernel once and runs it") {
  World world;
  jit::Engine engine(parts_for(world));
  const auto gemm = engine.prepare(kMissing, {1, kFew}, nullptr);
  REQUIRE(gemm);
  CHECK(world.calls == 1);
  REQUIRE(gemm->launch(arguments(kMany), nullptr));
  CHECK(world.calls == 2);
  CHECK(gemm->kernel_for(kMany)->spec() == selected(kMissing, kMany));
  REQUIRE(gemm->launch(arguments(kMany + 1), nullptr));
  CHECK(world.calls == 2);
  CHECK(test::fake_device().launches == 2);
  CHECK(test::fake_device().loaded.size() == 2);
}

TEST_CASE("A launch outside the prepared range runs at once if its kernel is already loaded") {
  World world;
  jit::Engine engine(parts_for(world));
  const auto gemm = engine.prepare(kMissing, {1, 1}, nullptr);
  REQUIRE(gemm);
  CHECK(gemm->launch(arguments(kFew), nullptr));
  CHECK(world.calls == 1);
}

TEST_CASE("A launch whose kernel cannot be compiled is an error with the reason, and a later one can succeed") {
  World world;
  jit::Engine engine(parts_for(world));
  const auto gemm = engine.prepare(kMissing, {1, kFew}, nullptr);
  REQUIRE(gemm);
  world.fails = true;
  const auto refused = gemm->launch(arguments(kMany), nullptr);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::compile_failed);
  CHECK(test::fake_device().launches == 0);
  world.fails = false;
  CHECK(gemm->launch(arguments(kMany), nullptr));
}

TEST_CASE("During a capture a launch that needs to load a kernel is refused before any driver call") {
  const test::TempFolder folder;
  warm(folder, {selected(kMissing, kFew), selected(kMissing, kMany)});
  for (const MissPolicy policy : {MissPolicy::compile, MissPolicy::error}) {
    World world;
    jit::Engine engine(with_policy(parts_with_cabinet(world, folder), policy));
    const auto gemm = engine.prepare(kMissing, {1, kFew}, nullptr);
    REQUIRE(gemm);
    test::fake_device().captured = some_stream();
    CHECK(gemm->launch(arguments(kFew), some_stream()));
    const auto refused = gemm->launch(arguments(kMany), some_stream());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::capturing);
    CHECK(refused.error().message.find("100000") != std::string::npos);
    CHECK(test::fake_device().loaded.size() == 1);
    test::fake_device().captured = nullptr;
    CHECK(gemm->launch(arguments(kMany), some_stream()));
    test::fake_device().captured = some_stream();
    CHECK(gemm->launch(arguments(kMany), some_stream()));
  }
}

TEST_CASE("Code is loaded in the relaxed capture mode, which does not invalidate another thread's capture") {
  World world;
  jit::Engine engine(parts_for(world));
  REQUIRE(engine.prepare(kMissing, {1, kFew}, nullptr));
  CHECK(test::fake_device().loaded.size() == 1);
  CHECK(test::fake_device().loads_outside_relaxed == 0);
  CHECK(test::FakeDevice::capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

TEST_CASE("The policy error refuses a missing kernel with its key and the command, and compiles nothing") {
  const test::TempFolder folder;
  World world;
  jit::Engine engine(with_policy(parts_with_cabinet(world, folder), MissPolicy::error));
  const auto refused = engine.prepare({{kMissing, {1, kMany}}, {kMissingFp8, {1, kFew}}}, nullptr);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::not_prepared);
  CHECK(refused.error().message.find("4 kernels are missing") == 0);
  for (const auto& spec : {selected(kMissing, kFew), selected(kMissing, kMany), selected(kMissingFp8, kFew),
                           jit::families().quantization("sm_90a")->spec()}) {
    const std::string key = jit::key_of(spec).hex();
    INFO(jit::describe(spec));
    CHECK(refused.error().detail.find(key) != std::string::npos);
  }
  CHECK(refused.error().detail.find("cubinet warmup --shape 512,256,2 --dtype bf16 --layout contiguous --m-min 1 "
                                    "--m-max 100000 --arch sm_90a --cache " +
                                    (folder.path() / "root").string()) != std::string::npos);
  CHECK(world.calls == 0);
  CHECK(test::fake_device().loaded.empty());
}

TEST_CASE("A start refused by the policy error leaves nothing new loaded on the device") {
  const test::TempFolder folder;
  warm(folder, {selected(kMissing, kFew), selected(kMissingFp8, kFew)});
  World world;
  jit::Engine engine(with_policy(parts_with_cabinet(world, folder), MissPolicy::error));
  const std::vector<ProblemRange> more{{kMissing, {1, kMany}}, {kMissingFp8, {1, kFew}}};
  REQUIRE_FALSE(engine.prepare(more, nullptr));
  CHECK(test::fake_device().loaded.size() == static_cast<std::size_t>(test::fake_device().unloaded));
  const auto gemm = engine.prepare(kMissing, {1, kFew}, nullptr);
  REQUIRE(gemm);
  const auto refused = engine.prepare(more, nullptr);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("2 kernels are missing") == 0);
  CHECK(test::fake_device().loaded.size() == static_cast<std::size_t>(test::fake_device().unloaded) + 1);
  CHECK(gemm->launch(arguments(kFew), nullptr));
}

TEST_CASE("The policy error loads kernels of the cabinet, also for a launch outside the prepared range") {
  const test::TempFolder folder;
  warm(folder, {selected(kMissing, kFew)});
  World world;
  jit::Engine engine(with_policy(parts_with_cabinet(world, folder), MissPolicy::error));
  StartReport report;
  auto prepared = engine.prepare({{kMissing, {1, kFew}}}, &report);
  REQUIRE(prepared);
  CHECK(report.loaded == 1);
  CHECK(report.missing == 0);
  const auto& gemm = prepared->front();
  const auto refused = gemm.launch(arguments(kMany), nullptr);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::not_prepared);
  CHECK(refused.error().message.find(jit::key_of(selected(kMissing, kMany)).hex()) != std::string::npos);
  warm(folder, {selected(kMissing, kMany)});
  // warm() has reset the fake device.
  jit::Engine again(with_policy(parts_with_cabinet(world, folder), MissPolicy::error));
  auto later = again.prepare(kMissing, {1, kFew}, nullptr);
  REQUIRE(later);
  CHECK(later->launch(arguments(kMany), nullptr));
  CHECK(world.calls == 0);
}

TEST_CASE("A loaded configuration stands in until the selected one is compiled, then launches switch") {
  World world;
  jit::Engine engine(with_policy(parts_for(world), MissPolicy::fallback));
  // The first kernel of a problem has no stand-in.
  const auto gemm = engine.prepare(kMissing, {1, kFew}, nullptr);
  REQUIRE(gemm);
  CHECK(world.calls == 1);
  world.gate.close();
  for (int i = 0; i < 3; ++i) REQUIRE(gemm->launch(arguments(kMany), nullptr));
  CHECK(gemm->kernel_for(kMany)->spec() == selected(kMissing, kFew));
  CHECK(engine.kernels().background().pending == 1);
  world.gate.open();
  REQUIRE(engine.kernels().wait_for_background(kLong));
  CHECK(engine.kernels().background().ready == 1);
  CHECK(world.calls == 2);
  REQUIRE(gemm->launch(arguments(kMany), nullptr));
  CHECK(gemm->kernel_for(kMany)->spec() == selected(kMissing, kMany));
  CHECK(gemm->kernel_for(kFew)->spec() == selected(kMissing, kFew));
}

TEST_CASE("With a cold cabinet the generic kernel stands in at once until the selected ones are compiled") {
  const test::TempFolder folder;
  warm(folder, {jit::families().generic(kMissing)});
  World world;
  world.gate.close();
  jit::Engine engine(with_policy(parts_with_cabinet(world, folder), MissPolicy::fallback));
  StartReport report;
  auto prepared = engine.prepare({{kMissing, {1, kMany}}}, &report);
  REQUIRE(prepared);
  CHECK(report.missing == 2);
  CHECK(report.compiled == 0);
  const auto& gemm = prepared->front();
  for (const std::int64_t m : {kFew, kMany}) {
    REQUIRE(gemm.launch(arguments(m), nullptr));
    CHECK(launched_payload() == test::fake_device().loaded.front());
    CHECK(gemm.kernel_for(m)->spec() == jit::families().generic(kMissing));
  }
  CHECK(world.calls == 0);
  world.gate.open();
  REQUIRE(engine.kernels().wait_for_background(kLong));
  CHECK(world.calls == 2);
  REQUIRE(gemm.launch(arguments(kMany), nullptr));
  CHECK(launched_payload() != test::fake_device().loaded.front());
}

TEST_CASE("Without NVRTC the generic kernel is used, and the report says that none can be compiled") {
  const test::TempFolder folder;
  warm(folder, {jit::families().generic(kMissing)});
  World world;
  world.installed = false;
  jit::Engine engine(with_policy(parts_with_cabinet(world, folder), MissPolicy::fallback));
  const auto gemm = engine.prepare(kMissing, {1, kMany}, nullptr);
  REQUIRE(gemm);
  REQUIRE(engine.kernels().wait_for_background(kLong));
  CHECK(engine.kernels().background().failed == 2);
  CHECK(engine.kernels().background().last_failure.find("looked in /x") != std::string::npos);
  CHECK(gemm->launch(arguments(kMany), nullptr));
}

TEST_CASE("A stand-in can be launched on a stream that is being captured") {
  World world;
  jit::Engine engine(with_policy(parts_for(world), MissPolicy::fallback));
  const auto gemm = engine.prepare(kMissing, {1, kFew}, nullptr);
  REQUIRE(gemm);
  world.gate.close();
  test::fake_device().captured = some_stream();
  CHECK(gemm->launch(arguments(kMany), some_stream()));
  world.gate.open();
  CHECK(engine.kernels().wait_for_background(kLong));
}

TEST_CASE("A failed background compilation is reported once, and the stand-in is still used") {
  World world;
  jit::Engine engine(with_policy(parts_for(world), MissPolicy::fallback));
  const auto gemm = engine.prepare(kMissing, {1, kFew}, nullptr);
  REQUIRE(gemm);
  world.fails = true;
  for (int i = 0; i < 3; ++i) {
    REQUIRE(gemm->launch(arguments(kMany), nullptr));
    REQUIRE(engine.kernels().wait_for_background(kLong));
  }
  CHECK(engine.kernels().background().failed == 1);
  CHECK(engine.kernels().background().last_failure.find("bf16_grouped_contiguous") != std::string::npos);
  CHECK(gemm->kernel_for(kMany)->spec() == selected(kMissing, kFew));
}

TEST_CASE("Destroying an engine ends background compilations, and its problems stay usable") {
  World world;
  auto engine = std::make_unique<jit::Engine>(with_policy(parts_for(world), MissPolicy::fallback));
  auto gemm = engine->prepare(kMissing, {1, kFew}, nullptr);
  REQUIRE(gemm);
  world.gate.close();
  REQUIRE(gemm->launch(arguments(kMany), nullptr));
  std::jthread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    world.gate.open();
  });
  engine.reset();
  CHECK(gemm->launch(arguments(kMany), nullptr));
}

TEST_CASE("Missing FP8 quantization kernels are compiled at once, because they have no stand-in") {
  const test::TempFolder folder;
  warm(folder, {jit::families().generic(kMissingFp8)});
  World world;
  jit::Engine engine(with_policy(parts_with_cabinet(world, folder), MissPolicy::fallback));
  StartReport report;
  REQUIRE(engine.prepare({{kMissingFp8, {1, kFew}}}, &report));
  CHECK(report.missing == 2);
  CHECK(report.compiled == 1);
  CHECK(engine.kernels().wait_for_background(kLong));
}

TEST_CASE("A start reports the kernels that it loaded, the missing ones, and its duration") {
  const test::TempFolder folder;
  warm(folder, {selected(kMissing, kFew)});
  World world;
  jit::Engine engine(parts_with_cabinet(world, folder));
  StartReport report;
  REQUIRE(engine.prepare({{kMissing, {1, kMany}}, {kMissingFp8, {1, kFew}}}, &report));
  CHECK(report.loaded == 4);
  CHECK(report.missing == 3);
  CHECK(report.compiled == 3);
  CHECK(report.milliseconds > 0);
  REQUIRE(engine.prepare({{kMissing, {1, kMany}}, {kMissingFp8, {1, kFew}}}, &report));
  CHECK(report.loaded == 4);
  CHECK(report.missing == 0);
}

TEST_CASE("A start does not wait for background compilations") {
  const test::TempFolder folder;
  Problem other = kMissing;
  other.n = 1024;
  Problem warmed = kMissing;
  warmed.n = 2048;
  warm(folder, {jit::families().generic(kMissing), selected(warmed, kFew)});
  World world;
  world.gate.close();
  jit::Engine engine(with_policy(parts_with_cabinet(world, folder), MissPolicy::fallback));
  auto prepared = engine.prepare({{kMissing, {1, kMany}}, {other, {1, kMany}}}, nullptr);
  REQUIRE(prepared);
  for (const auto& gemm : *prepared) CHECK(gemm.launch(arguments(kFew), nullptr));
  REQUIRE(engine.prepare(warmed, {1, kFew}, nullptr));
  CHECK(world.calls == 0);
  CHECK(engine.kernels().background().pending == 4);
  world.gate.open();
  REQUIRE(engine.kernels().wait_for_background(kLong));
  CHECK(engine.kernels().background().ready == 4);
}

TEST_CASE("A kernel that several problems miss is compiled once in the background, even if that fails") {
  const test::TempFolder folder;
  warm(folder, {jit::families().generic(kMissing)});
  World world;
  world.fails = true;
  jit::Engine engine(with_policy(parts_with_cabinet(world, folder), MissPolicy::fallback));
  Problem other = kMissing;
  other.groups = 3;
  REQUIRE(engine.prepare({{kMissing, {1, kFew}}, {other, {1, kFew}}}, nullptr));
  REQUIRE(engine.kernels().wait_for_background(kLong));
  REQUIRE(engine.prepare(other, {1, kFew}, nullptr));
  REQUIRE(engine.kernels().wait_for_background(kLong));
  CHECK(world.calls == 1);
  CHECK(engine.kernels().background().failed == 1);
  CHECK(engine.kernels().background().ready == 0);
}

TEST_CASE("A kernel that any NVRTC compiled is found on a machine with another NVRTC or none") {
  const test::TempFolder folder;
  for (const MissPolicy policy : {MissPolicy::error, MissPolicy::fallback}) {
    World world;
    world.version = "12.9.86";
    {
      jit::Engine warming(parts_with_cabinet(world, folder));
      REQUIRE(warming.prepare(kMissing, {1, kFew}, nullptr));
    }
    const int calls = world.calls;
    const int opened = world.opened;
    world.version = "13.2.78";
    world.installed = policy == MissPolicy::fallback;
    StartReport report;
    jit::Engine engine(with_policy(parts_with_cabinet(world, folder), policy));
    REQUIRE(engine.prepare({{kMissing, {1, kFew}}}, &report));
    CHECK(report.missing == 0);
    CHECK(world.calls == calls);
    CHECK(world.opened == opened);
  }
}

TEST_CASE("Threads that miss the same kernel at once compile it once") {
  World world;
  jit::Engine engine(parts_for(world));
  const auto gemm = engine.prepare(kMissing, {1, kFew}, nullptr);
  REQUIRE(gemm);
  world.gate.close();
  std::atomic<int> launched{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { launched += gemm->launch(arguments(kMany), nullptr) ? 1 : 0; });
  }
  world.gate.open();
  threads.clear();
  CHECK(launched == 4);
  CHECK(world.calls == 2);
  CHECK(test::fake_device().loaded.size() == 2);
}

TEST_CASE("Without quantization kernels FP8 starts with the generic kernel and refuses only row-major scales") {
  const test::TempFolder folder;
  warm(folder, {jit::families().generic(kMissingFp8)});
  World world;
  world.installed = false;
  jit::Engine engine(with_policy(parts_with_cabinet(world, folder), MissPolicy::fallback));
  StartReport report;
  const auto prepared = engine.prepare({{kMissingFp8, {1, kFew}}}, &report);
  REQUIRE(prepared);
  CHECK(report.warning.find("looked in /x") != std::string::npos);
  ContiguousArguments fp8 = arguments(256);
  const auto* scales = static_cast<const float*>(aligned_pointer());
  fp8.b_scales = weight_scales(scales, kMissingFp8.groups, kMissingFp8.n, kMissingFp8.k);
  fp8.a_scales = row_major_scales(scales, 256, kMissingFp8.k);
  const auto refused = prepared->front().launch(fp8, nullptr);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::not_prepared);
  fp8.a_scales = column_major_scales(scales, 256, kMissingFp8.k);
  CHECK(prepared->front().launch(fp8, nullptr));
}

TEST_CASE("A cabinet's path with blanks and quotes is one word in the printed command") {
  CHECK(jit::warm_command(kMissing, {1, 8}, "sm_90a", "/a b/it's").ends_with(" --cache '/a b/it'\\''s'"));
  CHECK(jit::warm_command(kMissing, {1, 8}, "sm_90a", "/opt/k-1_2").ends_with(" --cache /opt/k-1_2"));
}
