#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "cubinet/cubinet.hpp"
#include "jit/engine.hpp"
#include "jit/kernel_store.hpp"
#include "jit/prepared_gemm.hpp"
#include "jit/quantizer.hpp"
#include "util/clock.hpp"

namespace cubinet {
namespace {

// The Status of `work`, which returns an Expected<void> and works on the device.
template <class Work>
Status status_of(Work&& work) noexcept {
  return without_exceptions(ErrorCode::driver_failed, [&]() -> Status {
    Expected<void> outcome = work();
    if (outcome) [[likely]]
      return std::monostate{};
    return std::move(outcome.error());
  });
}

}  // namespace

struct GroupedGemm::State {
  jit::PreparedGemm gemm;
};

GroupedGemm::GroupedGemm(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}

Status GroupedGemm::launch(const ContiguousArguments& arguments, void* stream) const {
  return status_of([&] { return state_->gemm.launch(arguments, static_cast<CUstream>(stream)); });
}

Status GroupedGemm::launch(const MaskedArguments& arguments, void* stream) const {
  return status_of([&] { return state_->gemm.launch(arguments, static_cast<CUstream>(stream)); });
}

const Problem& GroupedGemm::problem() const noexcept { return state_->gemm.problem(); }

Status GroupedGemm::check_m_indices(const std::int32_t* m_indices, std::int64_t m) const {
  return status_of([&] { return state_->gemm.check_m_indices(m_indices, m); });
}

struct Quantizer::State {
  jit::PreparedQuantizer quantizer;
};

Quantizer::Quantizer(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}

Status Quantizer::quantize_rows(const void* x, std::int64_t rows, std::int64_t k, void* q, const ScaleTensor& scales,
                                void* stream) const {
  return status_of(
      [&] { return state_->quantizer.quantize_rows(x, rows, k, q, scales, static_cast<CUstream>(stream)); });
}

Status Quantizer::quantize_weights(const void* w, std::int64_t groups, std::int64_t n, std::int64_t k, void* q,
                                   const ScaleTensor& scales, void* stream) const {
  return status_of(
      [&] { return state_->quantizer.quantize_weights(w, groups, n, k, q, scales, static_cast<CUstream>(stream)); });
}

struct Service::State {
  jit::Engine engine;
  double context_milliseconds;  // time to retain the context of the device
};

Service::Service(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Service::Service(Service&&) noexcept = default;
Service& Service::operator=(Service&&) noexcept = default;
Service::~Service() = default;

Result<Service> Service::open(const ServiceOptions& options) {
  return without_exceptions(ErrorCode::driver_failed, [&]() -> Result<Service> {
    const util::Moment begin = util::now();
    auto device = jit::open_device(options.device);
    if (!device) return std::move(device.error());
    const double context_milliseconds = util::milliseconds_since(begin);
    return Service(std::unique_ptr<State>(
        new State{jit::Engine(jit::parts_of(options, std::move(*device))), context_milliseconds}));
  });
}

Result<GroupedGemm> Service::prepare(const Problem& problem, MRange range, StartReport* report) {
  return without_exceptions(ErrorCode::compile_failed, [&]() -> Result<GroupedGemm> {
    auto gemm = state_->engine.prepare(problem, range, report);
    if (!gemm) return std::move(gemm.error());
    return GroupedGemm(std::make_shared<const GroupedGemm::State>(GroupedGemm::State{std::move(*gemm)}));
  });
}

Result<std::vector<GroupedGemm>> Service::prepare(const std::vector<ProblemRange>& problems, StartReport* report) {
  return without_exceptions(ErrorCode::compile_failed, [&]() -> Result<std::vector<GroupedGemm>> {
    auto prepared = state_->engine.prepare(problems, report);
    if (!prepared) return std::move(prepared.error());
    std::vector<GroupedGemm> gemms;
    for (jit::PreparedGemm& gemm : *prepared) {
      gemms.push_back(GroupedGemm(std::make_shared<const GroupedGemm::State>(GroupedGemm::State{std::move(gemm)})));
    }
    return gemms;
  });
}

BackgroundReport Service::background() const { return state_->engine.kernels().background(); }

bool Service::wait_for_background(double seconds) const {
  constexpr double kMost = 3600.0 * 24 * 365;  // one year; NaN counts as 0
  const std::chrono::duration<double> patience(seconds > 0 ? std::min(seconds, kMost) : 0.0);
  return state_->engine.kernels().wait_for_background(std::chrono::duration_cast<std::chrono::milliseconds>(patience));
}

Result<Quantizer> Service::prepare_quantizer(StartReport* report) {
  return without_exceptions(ErrorCode::compile_failed, [&]() -> Result<Quantizer> {
    auto quantizer = state_->engine.prepare_quantizer(report);
    if (!quantizer) return std::move(quantizer.error());
    return Quantizer(std::make_shared<const Quantizer::State>(Quantizer::State{std::move(*quantizer)}));
  });
}

Result<Started> start(const ServiceOptions& options, const std::vector<ProblemRange>& problems) {
  return without_exceptions(ErrorCode::compile_failed, [&]() -> Result<Started> {
    const util::Moment begin = util::now();
    auto service = Service::open(options);
    if (!service) return service.error();
    StartReport report;
    auto gemms = service.value().prepare(problems, &report);
    if (!gemms) return gemms.error();
    report.milliseconds = util::milliseconds_since(begin) - service.value().state_->context_milliseconds;
    return Started{std::move(service).value(), std::move(gemms).value(), std::move(report), {problems, {}, {}}};
  });
}

}  // namespace cubinet
