#include "jit/provide.hpp"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "fake_compiler.hpp"
#include "jit/accepted_compilers.hpp"
#include "jit/kernel_facts.hpp"
#include "jit/sm90/grouped_gemm.hpp"
#include "unit/cache/support.hpp"
#include "unit/util/temp_folder.hpp"

using namespace cubinet;
using namespace std::chrono_literals;

namespace {

jit::KernelSpec some_spec() {
  jit::sm90::TileConfig config;
  config.block_tokens = 96;
  config.token_step = 16;
  config.block_columns = 128;
  config.stages = 6;
  return jit::sm90::spec_for({DataType::bf16, Layout::masked, 4096, 7168, 1}, config);
}

cache::Cabinet open_cabinet(const test::TempFolder& folder) {
  auto cabinet = cache::Cabinet::open(folder.path() / "root", true);
  if (!cabinet) throw std::runtime_error(cabinet.error().message);
  return std::move(*cabinet);
}

}  // namespace

TEST_CASE("A kernel is compiled once and found afterwards, also by a new process") {
  const test::TempFolder folder;
  test::FakeCompiler compiler;
  {
    auto cabinet = open_cabinet(folder);
    const auto fresh = jit::provide(some_spec(), compiler, &cabinet);
    REQUIRE(fresh);
    CHECK(fresh->compiled);
    CHECK(fresh->store_problem.empty());
  }
  auto cabinet = open_cabinet(folder);
  const auto found = jit::provide(some_spec(), compiler, &cabinet);
  REQUIRE(found);
  CHECK_FALSE(found->compiled);
  CHECK(compiler.calls == 1);
  CHECK(found->object.payload == "cubin of " + jit::source_of(some_spec()));
  CHECK(found->object.record == jit::record_of(some_spec()));
}

TEST_CASE("The facts of a kernel are stored with it") {
  const test::TempFolder folder;
  auto cabinet = open_cabinet(folder);
  test::FakeCompiler compiler;
  REQUIRE(jit::provide(some_spec(), compiler, &cabinet));
  const auto found = jit::find(some_spec(), cabinet);
  REQUIRE(found);
  const cache::Facts& facts = found->object.facts;
  const jit::KernelFacts kernel = jit::kernel_facts(facts);
  CHECK(kernel.family == "bf16_grouped_masked");
  CHECK(facts.arch == "sm_90a");
  CHECK(kernel.n == 4096);
  CHECK(kernel.k == 7168);
  CHECK(kernel.config == some_spec().config);
  CHECK(kernel.registers == 168);
  CHECK(kernel.spill_bytes == 8);
  CHECK(kernel.smem_bytes == 1024 + jit::sm90::dynamic_smem_bytes(jit::sm90::config_of(some_spec())));
  CHECK(facts.compile_ms == 12.5);
  CHECK(facts.created > 1'600'000'000);
  CHECK(kernel.kernel_names == std::vector<std::string>{"bf16_grouped_masked"});
}

TEST_CASE("A failed compilation returns the log and stores nothing, and the next call compiles again") {
  const test::TempFolder folder;
  auto cabinet = open_cabinet(folder);
  test::FakeCompiler compiler;
  compiler.fails = true;
  for (int round = 1; round <= 2; ++round) {
    const auto failed = jit::provide(some_spec(), compiler, &cabinet);
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code == ErrorCode::compile_failed);
    CHECK(failed.error().detail == "line 1: error");
    CHECK(compiler.calls == round);
  }
  CHECK_FALSE(jit::find(some_spec(), cabinet));
  const auto entries = test::entries_of(cabinet);
  REQUIRE(entries);
  CHECK(entries->empty());
  compiler.fails = false;
  const auto second = jit::provide(some_spec(), compiler, &cabinet);
  REQUIRE(second);
  CHECK(second->compiled);
}

TEST_CASE("Without a cabinet every kernel is compiled, without an error") {
  test::FakeCompiler compiler;
  for (int round = 1; round <= 2; ++round) {
    const auto provided = jit::provide(some_spec(), compiler, nullptr);
    REQUIRE(provided);
    CHECK(provided->compiled);
    CHECK(provided->store_problem.empty());
    CHECK(compiler.calls == round);
  }
}

TEST_CASE("A kernel of one NVRTC is found with another NVRTC") {
  const test::TempFolder folder;
  auto cabinet = open_cabinet(folder);
  test::FakeCompiler first_one("13.0.88");
  test::FakeCompiler other_one("13.2.78");
  const auto first = jit::provide(some_spec(), first_one, &cabinet);
  const auto second = jit::provide(some_spec(), other_one, &cabinet);
  REQUIRE(first);
  REQUIRE(second);
  CHECK_FALSE(second->compiled);
  CHECK(first->key == second->key);
  CHECK(other_one.calls == 0);
}

TEST_CASE("Standard::accepted replaces an entry of an unaccepted compiler once, and Standard::usable uses it") {
  const test::TempFolder folder;
  auto cabinet = cache::Cabinet::open(folder / "root", true, {.preference = jit::preference_for(0)}).value();
  test::FakeCompiler unaccepted("13.5.37");
  test::FakeCompiler accepted("13.0.88");
  REQUIRE(jit::provide(some_spec(), unaccepted, &cabinet));
  CHECK(jit::find(some_spec(), cabinet)->object.facts.compiler == "NVRTC 13.5.37");
  CHECK_FALSE(jit::provide(some_spec(), accepted, &cabinet)->compiled);
  const auto replaced = jit::provide(some_spec(), accepted, &cabinet, 1s, jit::Standard::accepted);
  REQUIRE(replaced);
  CHECK(replaced->compiled);
  CHECK(replaced->replaced);
  CHECK(jit::find(some_spec(), cabinet)->object.facts.compiler == "NVRTC 13.0.88");
  for (test::FakeCompiler* later : {&accepted, &unaccepted}) {
    const auto found = jit::provide(some_spec(), *later, &cabinet, 1s, jit::Standard::accepted);
    REQUIRE(found);
    CHECK_FALSE(found->compiled);
    CHECK(found->object.facts.compiler == "NVRTC 13.0.88");
  }
  CHECK(test::entries_of(cabinet)->size() == 1);
}

TEST_CASE("A kernel that cannot be stored is still returned, with the reason") {
  const test::TempFolder folder;
  auto cabinet = open_cabinet(folder);
  // Not even root can create a file below a path that ends in a file.
  for (const char* name : {"objects", "tmp"}) {
    std::filesystem::remove_all(folder.path() / "root" / name);
    std::ofstream(folder.path() / "root" / name) << "in the way";
  }
  test::FakeCompiler compiler;
  const auto provided = jit::provide(some_spec(), compiler, &cabinet);
  REQUIRE(provided);
  CHECK(provided->compiled);
  CHECK_FALSE(provided->object.payload.empty());
  CHECK_FALSE(provided->store_problem.empty());
}

TEST_CASE("Without NVRTC hits are returned, and a miss is an error that says what is missing") {
  const test::TempFolder folder;
  auto cabinet = open_cabinet(folder);
  test::FakeCompiler compiler("13.0");
  REQUIRE(jit::provide(some_spec(), compiler, &cabinet));

  jit::AbsentCompiler absent({ErrorCode::compiler_missing, "NVRTC not found: looked in /x", "tried /x"});
  const auto found = jit::provide(some_spec(), absent, &cabinet);
  REQUIRE(found);
  CHECK_FALSE(found->compiled);

  const auto other =
      jit::sm90::spec_for({DataType::bf16, Layout::masked, 1024, 7168, 1}, jit::sm90::config_of(some_spec()));
  const auto missed = jit::provide(other, absent, &cabinet);
  REQUIRE_FALSE(missed);
  CHECK(missed.error().code == ErrorCode::compiler_missing);
  CHECK(missed.error().message.find("N=1024") != std::string::npos);
  CHECK(missed.error().message.find("looked in /x") != std::string::npos);
}

namespace {

using jit::key_of;

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("A kernel that another process compiles is waited for and found") {
  const test::TempFolder folder;
  auto cabinet = open_cabinet(folder);
  test::FakeCompiler theirs;
  test::FakeCompiler ours;
  auto held = std::make_unique<const cache::Claim>(cabinet.claim(key_of(some_spec())));
  REQUIRE(held->mine());
  std::thread maker([&] {
    std::this_thread::sleep_for(100ms);
    // Compiles without the claim, like a process that has waited long enough.
    static_cast<void>(jit::provide(some_spec(), theirs, &cabinet, 0ms));
  });
  const auto provided = jit::provide(some_spec(), ours, &cabinet, 60s);
  maker.join();
  REQUIRE(provided);
  CHECK_FALSE(provided->compiled);
  CHECK(ours.calls == 0);
  CHECK(theirs.calls == 1);
}

TEST_CASE("If the compiling process ends without a result, the waiting one compiles") {
  const test::TempFolder folder;
  auto cabinet = open_cabinet(folder);
  test::FakeCompiler compiler;
  auto held = std::make_unique<const cache::Claim>(cabinet.claim(key_of(some_spec())));
  std::thread maker([&] {
    std::this_thread::sleep_for(100ms);
    held.reset();
  });
  bool compiled = false;
  const double waited =
      seconds_of([&] { compiled = jit::provide(some_spec(), compiler, &cabinet, 60s).value().compiled; });
  maker.join();
  CHECK(compiled);
  CHECK(waited < 30);
}

TEST_CASE("If the compiling process does not finish in time, the waiting one compiles") {
  const test::TempFolder folder;
  auto cabinet = open_cabinet(folder);
  test::FakeCompiler compiler;
  const cache::Claim held = cabinet.claim(key_of(some_spec()));
  bool stored = false;
  const double waited = seconds_of([&] {
    const auto provided = jit::provide(some_spec(), compiler, &cabinet, 200ms);
    stored = provided && provided->compiled && provided->store_problem.empty();
  });
  CHECK(stored);
  CHECK(waited >= 0.2);
  CHECK(waited < 10);
}

TEST_CASE("try_to_provide returns at once if another process compiles the kernel, and names that process") {
  const test::TempFolder folder;
  auto cabinet = open_cabinet(folder);
  test::FakeCompiler compiler;
  {
    const cache::Claim held = cabinet.claim(key_of(some_spec()));
    const auto tried = jit::try_to_provide(some_spec(), compiler, &cabinet);
    REQUIRE(tried);
    CHECK_FALSE(tried->provided);
    CHECK(tried->holder == getpid());
    CHECK(compiler.calls == 0);
  }
  const auto made = jit::try_to_provide(some_spec(), compiler, &cabinet);
  REQUIRE((made && made->provided));
  CHECK(made->provided->compiled);
  CHECK_FALSE(jit::try_to_provide(some_spec(), compiler, &cabinet)->provided->compiled);
}

TEST_CASE("bad_alloc during a compilation is out_of_memory, and any other exception is an error with its text") {
  struct : test::FakeCompiler {
    bool memory = true;
    Expected<jit::CompiledKernel> compile(const jit::KernelSpec&) override {
      if (memory) throw std::bad_alloc();
      throw std::runtime_error("out of paper");
    }
  } throwing;
  const auto starved = jit::provide(some_spec(), throwing, nullptr);
  REQUIRE_FALSE(starved);
  CHECK(starved.error().code == ErrorCode::out_of_memory);
  CHECK(starved.error().message.find("out of memory") != std::string::npos);
  throwing.memory = false;
  const auto other = jit::provide(some_spec(), throwing, nullptr);
  REQUIRE_FALSE(other);
  CHECK(other.error().code == ErrorCode::compile_failed);
  CHECK(other.error().message.find("out of paper") != std::string::npos);
}

TEST_CASE("A claim is released after the compilation, even if that fails or throws") {
  const test::TempFolder folder;
  auto cabinet = open_cabinet(folder);
  test::FakeCompiler compiler;
  compiler.fails = true;
  CHECK_FALSE(jit::try_to_provide(some_spec(), compiler, &cabinet));
  CHECK(cabinet.claim(key_of(some_spec())).mine());
  struct Throwing : test::FakeCompiler {
    Expected<jit::CompiledKernel> compile(const jit::KernelSpec&) override { throw std::runtime_error("no memory"); }
  } throwing;
  CHECK_FALSE(jit::try_to_provide(some_spec(), throwing, &cabinet));
  CHECK(cabinet.claim(key_of(some_spec())).mine());
}

TEST_CASE("The claim is held during a compilation, and other threads wait for that compilation") {
  const test::TempFolder folder;
  auto cabinet = open_cabinet(folder);
  struct Slow : test::FakeCompiler {
    cache::Cabinet* cabinet = nullptr;
    std::atomic<bool> claimed{true};
    Expected<jit::CompiledKernel> compile(const jit::KernelSpec& spec) override {
      if (!cabinet->claim(key_of(spec)).taken()) claimed = false;
      std::this_thread::sleep_for(50ms);
      return FakeCompiler::compile(spec);
    }
  } compiler;
  compiler.cabinet = &cabinet;
  std::atomic<int> whole{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] { whole += jit::provide(some_spec(), compiler, &cabinet, 60s).has_value() ? 1 : 0; });
    }
  }
  CHECK(whole == 4);
  CHECK(compiler.calls == 1);
  CHECK(compiler.claimed);
}

TEST_CASE("Without locks every kernel is still provided") {
  const test::TempFolder folder;
  auto cabinet = open_cabinet(folder);
  std::filesystem::remove_all(folder / "root/locks");
  std::ofstream(folder / "root/locks") << "in the way";
  test::FakeCompiler compiler;
  CHECK(jit::provide(some_spec(), compiler, &cabinet).value().compiled);
  CHECK_FALSE(jit::provide(some_spec(), compiler, &cabinet).value().compiled);
}
