// A fake compiler: returns arbitrary bytes, counts its calls, and fails on request.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "jit/compiler.hpp"

namespace cubinet::test {

class FakeCompiler : public jit::Compiler {
 public:
  explicit FakeCompiler(std::string version = "13.0.88") : version_(std::move(version)) {}

  [[nodiscard]] std::string version() const override { return version_; }

  Expected<jit::CompiledKernel> compile(const jit::KernelSpec& spec) override {
    ++calls;
    if (fails) return fail(ErrorCode::compile_failed, spec.family_name() + ": refused", "line 1: error");
    return jit::CompiledKernel{"cubin of " + jit::source_of(spec), {168, 8, 1024, 12.5}, {spec.family_name()}, "log"};
  }

  std::atomic<int> calls{0};
  bool fails = false;

 private:
  std::string version_;
};

}  // namespace cubinet::test
