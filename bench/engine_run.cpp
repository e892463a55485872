#include "engine_run.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cubinet/cubinet.hpp"
#include "jit/families/registry.hpp"
#include "jit/kernel_facts.hpp"
#include "jit/loader.hpp"
#include "jit/provide.hpp"
#include "jit/sm90/grouped_gemm.hpp"
#include "jit/sm90/launch.hpp"
#include "support/gpu_session.hpp"
#include "util/clock.hpp"
#include "warmup/execution/device_resources.hpp"

namespace cubinet::bench {
namespace {

constexpr MRange kRange{1, 131072};
constexpr std::array<std::array<std::int64_t, 2>, 8> kShapes{
    {{4096, 7168}, {7168, 2048}, {3072, 4096}, {4096, 1536}, {1536, 2048}, {2048, 768}, {1024, 2048}, {2048, 512}}};

std::vector<ProblemRange> problems() {
  std::vector<ProblemRange> all;
  for (const auto& [n, k] : kShapes) {
    for (const DataType type : {DataType::bf16, DataType::fp8}) {
      for (const Layout layout : {Layout::contiguous, Layout::masked}) all.push_back({{type, layout, n, k, 8}, kRange});
    }
  }
  return all;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

Expected<StartReport> start_once(const EngineOptions& options) {
  ServiceOptions service;
  service.cache_root = options.cache;
  auto started = start(service, problems());
  if (!started) return fail(started.error());
  return started.value().report;
}

// The kernels that a start loads.
Expected<std::vector<jit::Provided>> cubins(test::GpuSession& session) {
  std::set<jit::KernelSpec> specs;
  for (const auto& [problem, range] : problems()) {
    for (const auto& selection : jit::families().selections(problem, range)) {
      specs.insert(selection.spec);
    }
  }
  std::vector<jit::Provided> all;
  for (const jit::KernelSpec& spec : specs) {
    auto provided = jit::provide(spec, *session.compiler, session.cabinet_or_null());
    if (!provided) return propagate(provided);
    all.push_back(std::move(*provided));
  }
  return all;
}

// Times only the driver calls for each cubin: load it, find its entry point, move it to the device, and allow its
// dynamic shared memory.
Expected<double> bare_load_ms(const jit::Driver& driver, const std::vector<jit::Provided>& all) {
  std::vector<CUlibrary> libraries;
  const util::Moment begin = util::now();
  for (const jit::Provided& one : all) {
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    CUfunction function = nullptr;
    const jit::KernelFacts facts = jit::kernel_facts(one.object.facts);
    const char* name = facts.kernel_names.front().c_str();
    const void* code = one.object.payload.data();
    CUresult result = driver.cuLibraryLoadData(&library, code, nullptr, nullptr, 0, nullptr, nullptr, 0);
    if (result == CUDA_SUCCESS) result = driver.cuLibraryGetKernel(&kernel, library, name);
    if (result == CUDA_SUCCESS) result = driver.cuKernelGetFunction(&function, kernel);
    if (result == CUDA_SUCCESS && driver.cuFuncLoad != nullptr) result = driver.cuFuncLoad(function);
    if (result == CUDA_SUCCESS) {
      result = driver.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, facts.smem_bytes);
    }
    if (auto loaded = driver.check(result, "a bare load"); !loaded) return propagate(loaded);
    libraries.push_back(library);
  }
  const double took = util::milliseconds_since(begin);
  for (const CUlibrary library : libraries) driver.cuLibraryUnload(library);
  return took;
}

// The arguments of a launch at the driver.
struct Recorded {
  CUlaunchConfig config{};
  CUlaunchAttribute attribute{};
  CUfunction function = nullptr;
  alignas(64) std::array<std::byte, 18 * sizeof(CUtensorMap) + 64> parameters{};
};

Recorded recorded;

CUresult record(const CUlaunchConfig* config, CUfunction function, void** parameters, void**) {
  recorded.config = *config;
  recorded.attribute = config->attrs[0];
  recorded.config.attrs = &recorded.attribute;
  recorded.function = function;
  std::memcpy(recorded.parameters.data(), parameters[0], recorded.parameters.size());
  return CUDA_SUCCESS;
}

template <class Launch>
Expected<double> host_us(const jit::Driver& driver, CUstream stream, int launches, const Launch& launch) {
  const util::Moment begin = util::now();
  for (int i = 0; i < launches; ++i) {
    if (auto launched = launch(); !launched) return propagate(launched);
  }
  const double took = util::milliseconds_since(begin) * 1000 / launches;
  auto done = driver.check(driver.cuStreamSynchronize(stream), "waiting for the launches");
  if (!done) return propagate(done);
  return took;
}

// Times launches of a decoding problem without valid rows, so that the device keeps up with the host.
class LaunchTimer {
 public:
  static constexpr Problem kProblem{DataType::bf16, Layout::masked, 1024, 2048, 8};

  Expected<void> prepare(const jit::Driver& driver, Service& service) {
    const auto ready = buffer_.reserve(driver, std::size_t{64} << 20).and_then([&] {
      return driver.check(driver.cuMemsetD8Async(buffer_.address(), 0, buffer_.bytes(), nullptr), "clearing");
    });
    if (!ready) return ready;
    auto stream = warmup::make_stream(driver);
    if (!stream) return propagate(stream);
    stream_ = std::move(*stream);
    auto gemm = service.prepare(kProblem, {1, 64});
    if (!gemm) return fail(gemm.error());
    gemm_.push_back(std::move(gemm).value());
    return driver.check(driver.cuCtxSynchronize(), "clearing");
  }

  // Launches with a driver table whose launch function only records its arguments.
  Expected<void> record_launch(const test::GpuSession& session, const jit::KernelSpec& spec, const std::string& cubin) {
    jit::Driver recorder = session.device->driver();
    recorder.cuLaunchKernelEx = record;
    auto module = jit::LoadedModule::load(session.device, cubin, spec.architecture);
    if (!module) return propagate(module);
    recorded_module_.emplace(std::move(*module));
    const auto function = recorded_module_->function(spec.family_name());
    if (!function) return propagate(function);
    const jit::sm90::LaunchableKernel kernel{*function, jit::sm90::config_of(spec)};
    if (auto ready = jit::sm90::prepare_for_launch(recorder, kernel); !ready) return ready;
    return jit::sm90::launch(recorder, session.device->info(), kernel, kProblem,
                             jit::gemm_arguments(kProblem, arguments(0)), stream());
  }

  Expected<double> ours(const jit::Driver& driver, int launches, bool fresh) {
    int layer = 0;
    return host_us(driver, stream(), launches, [&]() -> Expected<void> {
      MaskedArguments ready = arguments(layer++);
      if (fresh) ready.capacity = 64 + layer;
      auto status = gemm_.front().launch(ready, stream());
      if (!status) return fail(status.error());
      return {};
    });
  }

  Expected<double> bare(const jit::Driver& driver, int launches) {
    void* parameters[] = {recorded.parameters.data()};
    return host_us(driver, stream(), launches, [&] {
      return driver.check(driver.cuLaunchKernelEx(&recorded.config, recorded.function, parameters, nullptr), "launch");
    });
  }

 private:
  [[nodiscard]] CUstream stream() const { return stream_.get(); }
  // The arguments of one layer of a model: each layer has weights of its own, and activations alternate between two
  // buffers.
  [[nodiscard]] MaskedArguments arguments(int layer) const {
    constexpr std::int64_t kStep = std::int64_t{1} << 16;
    char* memory = reinterpret_cast<char*>(buffer_.address());
    MaskedArguments arguments;
    arguments.a = memory + layer % 2 * kStep;
    arguments.b = memory + layer % 60 * kStep;
    arguments.d = memory + layer % 2 * kStep;
    arguments.masked_m = static_cast<const std::int32_t*>(static_cast<void*>(memory));
    arguments.capacity = 64;
    arguments.expected_m = 8;
    return arguments;
  }

  warmup::DeviceBuffer buffer_;
  warmup::DeviceStream stream_;
  std::vector<GroupedGemm> gemm_;
  std::optional<jit::LoadedModule> recorded_module_;
};

Expected<void> time_starts(const EngineOptions& options, test::GpuSession& session, EngineResult& result) {
  std::vector<double> starts, loads;
  if (auto first = start_once(options); !first) return propagate(first);  // warms the root
  const auto all = cubins(session);
  if (!all) return propagate(all);
  for (int round = 0; round < options.rounds; ++round) {
    const auto report = start_once(options);
    if (!report) return propagate(report);
    const auto bare = bare_load_ms(session.device->driver(), *all);
    if (!bare) return propagate(bare);
    result.kernels = report->loaded;
    starts.push_back(report->milliseconds);
    loads.push_back(*bare);
  }
  result.start_ms = median(starts);
  result.bare_load_ms = median(loads);
  return {};
}

Expected<void> time_launches(const EngineOptions& options, test::GpuSession& session, EngineResult& result) {
  const jit::Driver& driver = session.device->driver();
  ServiceOptions service_options;
  service_options.cache_root = options.cache;
  auto service = Service::open(service_options);
  if (!service) return fail(service.error());
  LaunchTimer timer;
  if (auto ready = timer.prepare(driver, service.value()); !ready) return ready;
  const auto spec = jit::families().select(LaunchTimer::kProblem, 8);
  auto provided = jit::provide(spec, *session.compiler, session.cabinet_or_null());
  if (!provided) return propagate(provided);
  if (auto noted = timer.record_launch(session, spec, provided->object.payload); !noted) return noted;
  std::vector<double> ours, fresh, bare;
  for (int round = 0; round < 2 * options.rounds; ++round) {
    const auto one = timer.ours(driver, options.launches, false);
    if (!one) return propagate(one);
    const auto another = timer.ours(driver, options.launches, true);
    if (!another) return propagate(another);
    const auto other = timer.bare(driver, options.launches);
    if (!other) return propagate(other);
    ours.push_back(*one);
    fresh.push_back(*another);
    bare.push_back(*other);
  }
  result.launch_us = median(ours);
  result.fresh_launch_us = median(fresh);
  result.bare_launch_us = median(bare);
  return {};
}

}  // namespace

Expected<EngineResult> run_engine(const EngineOptions& options) {
  auto session = test::GpuSession::open(options.cache, {});
  if (!session) return propagate(session);
  const jit::CurrentContext current(*session->device);
  EngineResult result;
  if (auto timed = time_starts(options, *session, result); !timed) return propagate(timed);
  if (auto timed = time_launches(options, *session, result); !timed) return propagate(timed);
  return result;
}

}  // namespace cubinet::bench
