// The seam to the compiler, and its real implementation over NVRTC (opened at run time).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jit/kernel_spec.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// What the compiler says of a kernel's use of the machine.
struct Resources {
  std::int32_t registers = 0;     // per thread
  std::int32_t spill_bytes = 0;   // spill stores + spill loads, per thread
  std::int32_t static_smem_bytes = 0;
  double compile_ms = 0;          // wall time of the whole compilation
};

struct CompiledKernel {
  std::string cubin;      // ELF image
  Resources resources;
  std::string log;
};

// Compiles specializations. Implementations are thread-safe: several threads may compile at once.
class Compiler {
 public:
  virtual ~Compiler() = default;
  // NVRTC's version as "major.minor".
  [[nodiscard]] virtual std::string version() const = 0;
  // Error compile_failed carries the compiler's log in `detail`.
  virtual Expected<CompiledKernel> compile(const KernelSpec& spec) = 0;
};

// Where NVRTC was found.
struct NvrtcLocation {
  std::string path;      // of the library that was opened
  std::string version;   // "13.0"
};

// Opens NVRTC: $CUBINET_NVRTC (passed in by the caller as `hint`, may be empty), then the loader's
// search path, CUDA_HOME/lib64 as given, /usr/local/cuda, and the wheel folder baked in at build time.
// The error compiler_missing names every place that was tried and what mends it.
class NvrtcCompiler final : public Compiler {
 public:
  static Expected<std::unique_ptr<NvrtcCompiler>> open(const std::vector<std::string>& folders);
  ~NvrtcCompiler() override;
  [[nodiscard]] std::string version() const override;
  [[nodiscard]] const NvrtcLocation& location() const;
  Expected<CompiledKernel> compile(const KernelSpec& spec) override;
  // The PTX of a specialization, for inspection and for benchmarks of the compiler.
  Expected<std::string> compile_to_ptx(const KernelSpec& spec);

 private:
  struct State;
  explicit NvrtcCompiler(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cubinet::jit
