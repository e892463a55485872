#include <algorithm>
#include <utility>

#include "jit/compiler.hpp"
#include "jit/nvrtc_library.hpp"
#include "jit/nvrtc_log.hpp"
#include "util/elapsed.hpp"

namespace cubinet::jit {
namespace {

// Makes ptxas report registers and spills. It shapes no code, so it is no part of the record.
constexpr const char* kReportResources = "--ptxas-options=-v";

}  // namespace

struct NvrtcCompiler::State {
  NvrtcLibrary nvrtc;
};

NvrtcCompiler::NvrtcCompiler(std::unique_ptr<State> state) : state_(std::move(state)) {}
NvrtcCompiler::~NvrtcCompiler() = default;

Expected<std::unique_ptr<NvrtcCompiler>> NvrtcCompiler::open(const std::vector<std::string>& folders) {
  auto library = NvrtcLibrary::open(folders);
  if (!library) return tl::make_unexpected(library.error());
  return std::unique_ptr<NvrtcCompiler>(new NvrtcCompiler(std::make_unique<State>(State{std::move(*library)})));
}

std::string NvrtcCompiler::version() const { return state_->nvrtc.location.version; }

const NvrtcLocation& NvrtcCompiler::location() const { return state_->nvrtc.location; }

Expected<CompiledKernel> NvrtcCompiler::compile(const KernelSpec& spec) { return compile(spec, template_files()); }

Expected<CompiledKernel> NvrtcCompiler::compile(const KernelSpec& spec, const std::vector<TemplateFile>& files) {
  if (auto known = check_architecture(spec.architecture); !known) return tl::make_unexpected(known.error());
  NvrtcInput input = input_of(spec, files);
  input.options.emplace_back(kReportResources);
  const util::Moment start = util::now();
  auto answer = run_nvrtc(state_->nvrtc, input, NvrtcOutput::cubin);
  const double took = util::milliseconds_since(start);
  if (!answer) {
    Error error = std::move(answer.error());
    error.message = describe(spec) + ": " + error.message;
    return tl::make_unexpected(std::move(error));
  }
  LogFacts facts = parse_ptxas_log(answer->log);
  facts.resources.compile_ms = took;
  return CompiledKernel{std::move(answer->bytes), facts.resources, std::move(facts.kernel_names),
                        std::move(answer->log)};
}

Expected<std::string> NvrtcCompiler::compile_to_ptx(const KernelSpec& spec) {
  if (auto known = check_architecture(spec.architecture); !known) return tl::make_unexpected(known.error());
  NvrtcInput input = input_of(spec);
  const std::string real = "--gpu-architecture=sm_";
  for (std::string& option : input.options) {
    if (option.starts_with(real)) option.replace(0, real.size(), "--gpu-architecture=compute_");
  }
  auto answer = run_nvrtc(state_->nvrtc, input, NvrtcOutput::ptx);
  if (!answer) return tl::make_unexpected(std::move(answer.error()));
  return std::move(answer->bytes);
}

AbsentCompiler::AbsentCompiler(Error reason) : reason_(std::move(reason)) {}

std::string AbsentCompiler::version() const { return {}; }

Expected<CompiledKernel> AbsentCompiler::compile(const KernelSpec& spec) {
  Error error = reason_;
  error.message = "the cabinet holds no kernel " + describe(spec) + " and none can be made: " + error.message;
  return tl::make_unexpected(std::move(error));
}

}  // namespace cubinet::jit
