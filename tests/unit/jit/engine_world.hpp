// An engine with a fake device, a compiler that counts, and a real cabinet in a temporary folder.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "fake_compiler.hpp"
#include "fake_driver.hpp"
#include "jit/engine.hpp"
#include "unit/util/temp_folder.hpp"

namespace cubinet::test {

// Blocks compilations while it is closed.
class Gate {
 public:
  void close() {
    const std::lock_guard lock(mutex_);
    open_ = false;
  }
  void open() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
};

// The fake device and the counters of one engine, which outlive it.
struct World {
  int opened = 0;
  std::atomic<int> calls{0};  // compilations
  bool installed = true;
  std::atomic<bool> fails{false};
  std::string version = "13.0.88";
  Gate gate;
};

// Counts compilations in `World`, which outlives the engine that owns the compiler.
class CountingCompiler final : public FakeCompiler {
 public:
  explicit CountingCompiler(World& world) : FakeCompiler(world.version), world_(world) {}
  Expected<jit::CompiledKernel> compile(const jit::KernelSpec& spec) override {
    world_.gate.pass();
    ++world_.calls;
    if (world_.fails) return fail(ErrorCode::compile_failed, spec.family_name() + ": refused", "line 1: error");
    return FakeCompiler::compile(spec);
  }

 private:
  World& world_;
};

inline jit::EngineParts parts_for(World& world) {
  jit::EngineParts parts;
  parts.device = make_fake_context();
  parts.jobs = 1;
  parts.open_compiler = [&world]() -> Expected<std::unique_ptr<jit::Compiler>> {
    if (!world.installed) return fail(ErrorCode::compiler_missing, "NVRTC not found: looked in /x");
    ++world.opened;
    return std::unique_ptr<jit::Compiler>(new CountingCompiler(world));
  };
  return parts;
}

inline jit::EngineParts parts_with_cabinet(World& world, const TempFolder& folder) {
  jit::EngineParts parts = parts_for(world);
  auto cabinet = cache::Cabinet::open(folder.path() / "root", true);
  if (!cabinet) throw std::runtime_error(cabinet.error().message);
  parts.cabinet = std::move(*cabinet);
  parts.cache_root = (folder.path() / "root").string();
  return parts;
}

}  // namespace cubinet::test
