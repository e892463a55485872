// The interface of compilers, and the implementation with NVRTC, which is opened at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jit/kernel_spec.hpp"
#include "jit/shipped.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// Resources of a kernel as the compiler reports them. For a program with several kernels: the maximum of each figure,
// and the sum of the spills.
struct Resources {
  std::int32_t registers = 0;    // per thread
  std::int32_t spill_bytes = 0;  // spill stores plus spill loads, per thread
  std::int32_t static_smem_bytes = 0;
  double compile_ms = 0;  // wall time of the whole compilation
};

struct CompiledKernel {
  std::string cubin;  // ELF image
  Resources resources;
  std::vector<std::string> kernel_names;  // entry points, in the order in which ptxas reports them
  std::string log;                        // the complete log of the compiler, with warnings
};

// Compiles specializations. Implementations are thread-safe: several threads may compile at once.
class Compiler {
 public:
  virtual ~Compiler() = default;
  // The version of the compiler with its build number: "13.0.88".
  [[nodiscard]] virtual std::string version() const = 0;
  // Errors: compile_failed or out_of_memory, with the log of the compiler in `detail`; compiler_missing.
  virtual Expected<CompiledKernel> compile(const KernelSpec& spec) = 0;
  // Releases resources that are kept between compilations, such as worker processes. The next compilation acquires them
  // again.
  virtual void release_resources() {}
  // A remark for the user on how this compiler works; empty if there is none.
  [[nodiscard]] virtual std::string remark() const { return {}; }
  // The peak resident memory of other processes that compile for this one, in bytes. 0 if there are none.
  [[nodiscard]] virtual std::int64_t peak_bytes() const { return 0; }
};

// Where NVRTC was found.
struct NvrtcLocation {
  std::string path;        // path of the library that was opened
  std::string version;     // version with build number, "13.0.88"; "13.0" if the library does not tell the build
  std::string refused;     // why a library that was found earlier was rejected; empty if none was
  std::string in_process;  // why this process compiles itself; empty if compile workers do
};

// The stack size of a compilation. It does not depend on the default stack size of threads in this process.
inline constexpr std::size_t compile_stack_bytes = std::size_t{8} << 20;

// NVRTC, opened at run time. Compile workers open it, so that it can neither end nor change this process. If no worker
// can be started, it is opened in this process and stays loaded until the process ends. Thread-safe: several threads
// may compile at once. A child process made by fork may use it, too.
class NvrtcCompiler final : public Compiler {
 public:
  // Opens the first usable libnvrtc of CUDA 13 or 12. It is searched in this order: each of `folders` with its lib64/
  // and lib/ (so CUDA_HOME can be passed as it is), /usr/local/cuda/lib64, the folder that was configured at build
  // time, the search path of the loader. A broken library is skipped: one that is truncated, lacks a function of NVRTC,
  // or cannot compile an empty program.
  // `worker` is the path of the compile worker, see shipped_worker(); empty: this process compiles.
  // Error: compiler_missing. The message names all places that were searched; or the first library that was found, what
  // is wrong with it, and how to fix that. If that library failed because memory ran out, the error is out_of_memory.
  static Expected<std::unique_ptr<NvrtcCompiler>> open(const std::vector<std::string>& folders,
                                                       const std::string& worker = shipped_worker());
  ~NvrtcCompiler() override;
  [[nodiscard]] std::string version() const override;
  [[nodiscard]] const NvrtcLocation& location() const;
  // If NVRTC crashes the compile worker, or does not answer for ten minutes, the error is compile_failed (out_of_memory
  // if memory seems to have run out), with the path of the library and the signal.
  Expected<CompiledKernel> compile(const KernelSpec& spec) override;
  // Ends the idle compile workers.
  void release_resources() override;
  [[nodiscard]] std::string remark() const override;
  [[nodiscard]] std::int64_t peak_bytes() const override;
  // Like compile(), with `files` instead of the embedded templates.
  Expected<CompiledKernel> compile(const KernelSpec& spec, const std::vector<TemplateFile>& files);
  // Compiles a specialization to PTX, for inspection and for benchmarks of the compiler.
  Expected<std::string> compile_to_ptx(const KernelSpec& spec);

 private:
  struct State;
  explicit NvrtcCompiler(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Used if NVRTC is missing. A machine that only serves needs no compiler: it finds its kernels in a warm cabinet. If a
// kernel is missing there, the error says why it cannot be compiled. version() is empty.
class AbsentCompiler final : public Compiler {
 public:
  // `reason`: the error of NvrtcCompiler::open, or why it was not called. Every compilation fails with its code.
  explicit AbsentCompiler(Error reason);
  [[nodiscard]] std::string version() const override;
  Expected<CompiledKernel> compile(const KernelSpec& spec) override;

 private:
  Error reason_;
};

}  // namespace cubinet::jit
