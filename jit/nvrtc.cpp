#include <mutex>
#include <optional>
#include <utility>

#include "jit/compiler.hpp"
#include "jit/families/family.hpp"
#include "jit/nvrtc_library.hpp"
#include "jit/nvrtc_log.hpp"
#include "jit/target.hpp"
#include "jit/worker_pool.hpp"
#include "util/clock.hpp"
#include "util/threads.hpp"

namespace cubinet::jit {
namespace {

// Makes ptxas report registers and spills. The option does not change the code, so it is not part of the record.
constexpr const char* kReportResources = "--ptxas-options=-v";

constexpr const char* kNoWorker = "cubinet-compile-worker is not installed beside this library";

}  // namespace

struct NvrtcCompiler::State {
  NvrtcLocation location;
  std::unique_ptr<WorkerPool> workers;  // null if this process compiles
  std::mutex mutex;                     // guards `library`
  std::optional<NvrtcLibrary> library;  // opened in this process

  Expected<NvrtcLocation> open_here(const std::string& file) {
    Expected<NvrtcLibrary> opened = fail(ErrorCode::compiler_missing, "");
    util::run_with_stack(compile_stack_bytes, [&] { opened = NvrtcLibrary::load(file); });
    if (!opened) return propagate(opened);
    library = std::move(*opened);
    return library->location;
  }

  Expected<NvrtcAnswer> run_here(const NvrtcInput& input, NvrtcOutput output) {
    {
      const std::lock_guard lock(mutex);
      auto opened = library ? Expected<NvrtcLocation>(location) : open_here(location.path);
      if (!opened) return propagate(opened);
    }
    Expected<NvrtcAnswer> answer;
    util::run_with_stack(compile_stack_bytes, [&] { answer = run_nvrtc(*library, input, output); });
    return answer;
  }

  Expected<NvrtcAnswer> run(const NvrtcInput& input, NvrtcOutput output) {
    auto answer = workers != nullptr ? workers->run(input, output) : std::nullopt;
    return answer ? *std::move(answer) : run_here(input, output);
  }
};

NvrtcCompiler::NvrtcCompiler(std::unique_ptr<State> state) : state_(std::move(state)) {}
NvrtcCompiler::~NvrtcCompiler() = default;

Expected<std::unique_ptr<NvrtcCompiler>> NvrtcCompiler::open(const std::vector<std::string>& folders,
                                                             const std::string& worker) {
  auto state = std::make_unique<State>();
  Expected<std::unique_ptr<WorkerPool>> workers = fail(ErrorCode::not_found, kNoWorker);
  if (!worker.empty()) workers = WorkerPool::start(worker);
  if (workers) state->workers = std::move(*workers);
  auto found = find_nvrtc(folders, [&](const std::string& file) {
    return state->workers != nullptr ? state->workers->open(file) : state->open_here(file);
  });
  if (!found) return propagate(found);
  state->location = std::move(*found);
  if (!workers) state->location.in_process = workers.error().message;
  return std::unique_ptr<NvrtcCompiler>(new NvrtcCompiler(std::move(state)));
}

std::string NvrtcCompiler::version() const { return state_->location.version; }

const NvrtcLocation& NvrtcCompiler::location() const { return state_->location; }

void NvrtcCompiler::release_resources() {
  if (state_->workers != nullptr) state_->workers->end_idle();
}

std::string NvrtcCompiler::remark() const {
  const std::string& reason = state_->location.in_process;
  return reason.empty() ? reason : "NVRTC compiles in this process, which it may end: " + reason;
}

std::int64_t NvrtcCompiler::peak_bytes() const {
  return state_->workers != nullptr ? state_->workers->peak_bytes() : 0;
}

Expected<CompiledKernel> NvrtcCompiler::compile(const KernelSpec& spec) {
  return compile(spec, spec.family->templates());
}

Expected<CompiledKernel> NvrtcCompiler::compile(const KernelSpec& spec, const std::vector<TemplateFile>& files) {
  if (auto known = check_architecture(spec.architecture); !known) return propagate(known);
  NvrtcInput input = input_of(spec, files);
  input.options.emplace_back(kReportResources);
  const util::Moment start = util::now();
  auto answer = state_->run(input, NvrtcOutput::cubin);
  const double took = util::milliseconds_since(start);
  if (!answer) {
    Error error = std::move(answer.error());
    error.message = describe(spec) + ": " + error.message;
    return fail(std::move(error));
  }
  LogFacts facts = parse_ptxas_log(answer->log);
  facts.resources.compile_ms = took;
  return CompiledKernel{std::move(answer->bytes), facts.resources, std::move(facts.kernel_names),
                        std::move(answer->log)};
}

Expected<std::string> NvrtcCompiler::compile_to_ptx(const KernelSpec& spec) {
  if (auto known = check_architecture(spec.architecture); !known) return propagate(known);
  NvrtcInput input = input_of(spec);
  const std::string real = "--gpu-architecture=sm_";
  for (std::string& option : input.options) {
    if (option.starts_with(real)) option.replace(0, real.size(), "--gpu-architecture=compute_");
  }
  auto answer = state_->run(input, NvrtcOutput::ptx);
  if (!answer) return propagate(answer);
  return std::move(answer->bytes);
}

AbsentCompiler::AbsentCompiler(Error reason) : reason_(std::move(reason)) {}

std::string AbsentCompiler::version() const { return {}; }

Expected<CompiledKernel> AbsentCompiler::compile(const KernelSpec& spec) {
  Error error = reason_;
  error.message = "the cabinet holds no kernel " + describe(spec) + " and none can be made: " + error.message;
  return fail(std::move(error));
}

}  // namespace cubinet::jit
