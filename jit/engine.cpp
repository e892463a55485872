#include "jit/engine.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "jit/selector.hpp"
#include "util/cores.hpp"
#include "util/elapsed.hpp"
#include "util/parallel.hpp"

namespace cubinet::jit {
namespace {

Expected<void> check_range(MRange range) {
  if (range.first >= 1 && range.first <= range.last) return {};
  return fail(ErrorCode::invalid_argument, "the range of M " + std::to_string(range.first) + ".." +
                                               std::to_string(range.last) +
                                               " is empty; it must start at 1 or above and not end before it starts");
}

}  // namespace

// A compiler that could not be opened is asked for again next time: it may have been installed meanwhile.
Compiler& Engine::compiler() {
  if (compiler_ != nullptr) return *compiler_;
  auto opened = parts_.open_compiler();
  if (opened) {
    compiler_ = std::move(*opened);
    return *compiler_;
  }
  absent_ = std::make_unique<AbsentCompiler>(std::move(opened.error()), parts_.expected_nvrtc);
  return *absent_;
}

Expected<std::vector<Provided>> Engine::provide_all(const std::vector<KernelSpec>& specs) {
  cache::Cabinet* cabinet = parts_.cabinet ? &*parts_.cabinet : nullptr;
  std::vector<Expected<Provided>> results;
  std::vector<std::size_t> missing;
  for (const KernelSpec& spec : specs) {
    auto found = cabinet != nullptr ? find(spec, parts_.expected_nvrtc, *cabinet) : std::nullopt;
    if (!found) missing.push_back(results.size());
    results.push_back(found ? std::move(*found) : Provided{});
  }
  if (!missing.empty()) {
    Compiler& makes = compiler();
    const int jobs = parts_.jobs > 0 ? parts_.jobs : util::usable_cores();
    util::parallel_for(missing.size(), jobs,
                       [&](std::size_t i) { results[missing[i]] = provide(specs[missing[i]], makes, cabinet); });
  }
  std::vector<Provided> provided;
  for (auto& result : results) {
    if (!result) return tl::make_unexpected(std::move(result.error()));
    provided.push_back(std::move(*result));
  }
  return provided;
}

bool Engine::is_loaded(const KernelSpec& spec) const {
  return takes_constants(spec) ? loaded_.contains(spec) : quantization_ != nullptr;
}

// Of the families without constants an engine knows the quantisation alone.
Expected<void> Engine::load(const KernelSpec& spec, const cache::Object& object) {
  if (!takes_constants(spec)) {
    auto kernels = QuantizationKernels::load(parts_.device, object.payload, spec.architecture);
    if (!kernels) return tl::make_unexpected(std::move(kernels.error()));
    quantization_ = std::make_shared<const QuantizationKernels>(std::move(*kernels));
    return {};
  }
  auto kernel = load_kernel(parts_.device, spec, object.payload);
  if (!kernel) return tl::make_unexpected(std::move(kernel.error()));
  loaded_.emplace(spec, std::make_shared<const LoadedKernel>(std::move(*kernel)));
  return {};
}

Expected<void> Engine::load_missing(const std::vector<KernelSpec>& specs, PrepareReport& report) {
  std::vector<KernelSpec> missing;
  std::copy_if(specs.begin(), specs.end(), std::back_inserter(missing),
               [&](const KernelSpec& spec) { return !is_loaded(spec); });
  auto provided = provide_all(missing);
  if (!provided) return tl::make_unexpected(std::move(provided.error()));
  report.warning = parts_.cabinet_problem;
  for (std::size_t i = 0; i < missing.size(); ++i) {
    const Provided& one = (*provided)[i];
    if (one.compiled) ++report.compiled;
    if (report.warning.empty()) report.warning = one.store_problem;
    if (auto loaded = load(missing[i], one.object); !loaded) return loaded;
  }
  report.found = static_cast<std::int64_t>(specs.size()) - report.compiled;
  return {};
}

Expected<PreparedGemm> Engine::prepare(const Problem& problem, MRange range, PrepareReport* report) {
  const util::Moment start = util::now();
  if (auto runs = can_run(problem); !runs) return tl::make_unexpected(std::move(runs.error()));
  if (auto valid = check_range(range); !valid) return tl::make_unexpected(std::move(valid.error()));
  const auto architecture = architecture_for(parts_.device->info());
  if (!architecture) return tl::make_unexpected(architecture.error());

  const std::vector<Selection> chosen = selections(problem, range, {parts_.device->info().num_sms});
  std::vector<KernelSpec> specs;
  for (const Selection& selection : chosen) specs.push_back(spec_for(problem, selection.config, *architecture));
  std::vector<KernelSpec> distinct = specs;
  const bool quantized = problem.data_type == DataType::fp8;
  if (quantized) distinct.push_back(quantization_spec(*architecture));
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());

  const std::lock_guard lock(mutex_);
  PrepareReport facts;
  if (auto loaded = load_missing(distinct, facts); !loaded) return tl::make_unexpected(std::move(loaded.error()));
  std::vector<PreparedRange> ranges;
  for (std::size_t i = 0; i < chosen.size(); ++i) ranges.push_back({chosen[i].range, loaded_.at(specs[i])});
  facts.milliseconds = util::milliseconds_since(start);
  if (report != nullptr) *report = std::move(facts);
  return PreparedGemm(parts_.device, problem, std::move(ranges), quantized ? quantization_ : nullptr);
}

Expected<PreparedQuantizer> Engine::prepare_quantizer(PrepareReport* report) {
  const util::Moment start = util::now();
  const auto architecture = architecture_for(parts_.device->info());
  if (!architecture) return tl::make_unexpected(architecture.error());
  const std::lock_guard lock(mutex_);
  PrepareReport facts;
  if (auto loaded = load_missing({quantization_spec(*architecture)}, facts); !loaded)
    return tl::make_unexpected(std::move(loaded.error()));
  facts.milliseconds = util::milliseconds_since(start);
  if (report != nullptr) *report = std::move(facts);
  return PreparedQuantizer(parts_.device, quantization_);
}

}  // namespace cubinet::jit
