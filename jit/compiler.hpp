// The seam to the compiler, and its real implementation over NVRTC (opened at run time).
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

// What the compiler says of a kernel's use of the machine.
// Of a program with several kernels: the largest figure, and the spills of all together.
struct Resources {
  std::int32_t registers = 0;    // per thread
  std::int32_t spill_bytes = 0;  // spill stores + spill loads, per thread
  std::int32_t static_smem_bytes = 0;
  double compile_ms = 0;  // wall time of the whole compilation
};

struct CompiledKernel {
  std::string cubin;  // ELF image
  Resources resources;
  std::vector<std::string> kernel_names;  // entry points, in the order in which ptxas reports them
  std::string log;                        // everything that the compiler said, its warnings among it
};

// Compiles specializations. Implementations are thread-safe: several threads may compile at once.
class Compiler {
 public:
  virtual ~Compiler() = default;
  // The compiler's build, "13.0.88".
  [[nodiscard]] virtual std::string version() const = 0;
  // Errors: compile_failed, out_of_memory, with the compiler's log in `detail`; compiler_missing.
  virtual Expected<CompiledKernel> compile(const KernelSpec& spec) = 0;
  // Releases what is kept between compilations, such as worker processes. The next compilation acquires it again.
  virtual void rest() {}
  // What the user should know of how it compiles; empty when there is nothing.
  [[nodiscard]] virtual std::string remark() const { return {}; }
  // The most memory that was resident at once in processes beside this one, in bytes.
  [[nodiscard]] virtual std::int64_t peak_bytes() const { return 0; }
};

// Where NVRTC was found.
struct NvrtcLocation {
  std::string path;        // of the library that was opened
  std::string version;     // its build, "13.0.88"; "13.0" where the library does not tell it
  std::string refused;     // why one that was found before it is not to be used; empty when there was none
  std::string in_process;  // why this process compiles itself; empty where its workers do
};

// The stack that a compilation has, whatever the process gives its threads.
inline constexpr std::size_t compile_stack_bytes = std::size_t{8} << 20;

// NVRTC, opened at run time. It is opened in worker processes and compiles there, so that it can neither end nor change
// this one; where no worker can be started it is opened here, and stays open for the rest of the process. Thread-safe:
// several threads compile at once. A child made by fork may use it, too.
class NvrtcCompiler final : public Compiler {
 public:
  // Opens the first libnvrtc of CUDA 13 or 12 found in: each of `folders` and its lib64/ and lib/ (so CUDA_HOME may be
  // given as it is), /usr/local/cuda/lib64, the folder that was configured at build time, the loader's search path. One
  // that is broken is passed over: cut short, without NVRTC's functions, or not able to compile an empty program.
  // The error compiler_missing names every place that was tried, or the first library that is there and what is wrong
  // with it (out_of_memory where there is no room for it), and what mends it.
  // `worker` is the program that compiles, see shipped_worker(); empty: this process does.
  static Expected<std::unique_ptr<NvrtcCompiler>> open(const std::vector<std::string>& folders,
                                                       const std::string& worker = shipped_worker());
  ~NvrtcCompiler() override;
  [[nodiscard]] std::string version() const override;
  [[nodiscard]] const NvrtcLocation& location() const;
  // A library that ends its worker, or does not answer for ten minutes, is compile_failed, with the file and the
  // signal.
  Expected<CompiledKernel> compile(const KernelSpec& spec) override;
  // Ends the workers.
  void rest() override;
  [[nodiscard]] std::string remark() const override;
  [[nodiscard]] std::int64_t peak_bytes() const override;
  // As compile(), with `files` in the place of the embedded templates.
  Expected<CompiledKernel> compile(const KernelSpec& spec, const std::vector<TemplateFile>& files);
  // The PTX of a specialization, for inspection and for benchmarks of the compiler.
  Expected<std::string> compile_to_ptx(const KernelSpec& spec);

 private:
  struct State;
  explicit NvrtcCompiler(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Stands in where there is no NVRTC: a machine that only serves finds what a warm cabinet holds, and hears why nothing
// can be made when something is missing. Its version is empty.
class AbsentCompiler final : public Compiler {
 public:
  // `reason` is what NvrtcCompiler::open answered, or why it was not asked; each compilation fails with its code.
  explicit AbsentCompiler(Error reason);
  [[nodiscard]] std::string version() const override;
  Expected<CompiledKernel> compile(const KernelSpec& spec) override;

 private:
  Error reason_;
};

}  // namespace cubinet::jit
