// A compiler that is watched at work.
#pragma once

#include "jit/compiler.hpp"
#include "tools/progress.hpp"

namespace cubinet::tools {

// Compiles as `compiler` does, and has `display` name the kernels that are being compiled. Both must outlive it.
class ObservedCompiler final : public jit::Compiler {
 public:
  ObservedCompiler(jit::Compiler& compiler, ProgressDisplay& display) : compiler_(compiler), display_(display) {}
  [[nodiscard]] std::string version() const override { return compiler_.version(); }
  Expected<jit::CompiledKernel> compile(const jit::KernelSpec& spec) override {
    const ProgressDisplay::InWork work(display_, jit::describe(spec));
    return compiler_.compile(spec);
  }

 private:
  jit::Compiler& compiler_;
  ProgressDisplay& display_;
};

}  // namespace cubinet::tools
