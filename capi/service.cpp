// Opens services, starts, and prepares problems.
#include <memory>
#include <vector>

#include "capi/handles.hpp"
#include "capi/support.hpp"
#include "jit/driver.hpp"

namespace cubinet::capi {

Gemms handles_of(std::vector<GroupedGemm>&& gemms) {
  Gemms handles;
  for (GroupedGemm& gemm : gemms) handles.push_back(std::make_unique<cubinet_gemm>(cubinet_gemm{std::move(gemm)}));
  return handles;
}

void hand_over(Gemms handles, cubinet_gemm** gemms) noexcept {
  for (auto& handle : handles) *gemms++ = handle.release();
}

Expected<void> give_report(const StartReport& report, cubinet_start_report* given) {
  return give(given,
              {sizeof(cubinet_start_report), report.loaded, report.missing, report.compiled, report.milliseconds,
               keep(ReportText::warning, report.warning), keep(ReportText::compilers, report.compilers)},
              "report");
}

Expected<void> check_report(const cubinet_start_report* report) {
  return report == nullptr ? Expected<void>()
                           : check_size(report, first_size<cubinet_start_report>, sizeof *report, "report");
}

namespace {

// Whether `stream` is being captured, as the driver says.
bool is_capturing(void* stream) noexcept {
  const auto asked = without_exceptions(ErrorCode::driver_failed, [&]() -> Expected<bool> {
    const auto driver = jit::Driver::open();
    if (!driver) return propagate(driver);
    return jit::is_capturing(**driver, static_cast<CUstream>(stream));
  });
  return asked.value_or(false);
}

Expected<std::vector<ProblemRange>> wanted(const cubinet_problem* problems, std::size_t count, cubinet_gemm** gemms,
                                           const cubinet_start_report* report) {
  const auto room = count == 0 ? Expected<void>() : check_given(gemms, "gemms");
  return room.and_then([&] { return check_report(report); }).and_then([&] {
    return problems_of(problems, count, "problems");
  });
}

Expected<void> start(const cubinet_options* options, const cubinet_problem* problems, std::size_t count,
                     cubinet_service** service, cubinet_gemm** gemms, cubinet_start_report* report) {
  if (auto there = check_given(service, "service"); !there) return there;
  const auto own = options_of(options);
  if (!own) return propagate(own);
  const auto ranges = wanted(problems, count, gemms, report);
  if (!ranges) return propagate(ranges);
  auto started = expected(cubinet::start(*own, *ranges));
  if (!started) return propagate(started);
  auto handle = std::make_unique<cubinet_service>(cubinet_service{std::move(started->service)});
  Gemms handles = handles_of(std::move(started->gemms));
  return give_report(started->report, report).map([&] {
    hand_over(std::move(handles), gemms);
    *service = handle.release();
  });
}

Expected<void> prepare(cubinet_service* service, const cubinet_problem* problems, std::size_t count,
                       cubinet_gemm** gemms, cubinet_start_report* report) {
  if (auto there = check_given(service, "service"); !there) return there;
  const auto ranges = wanted(problems, count, gemms, report);
  if (!ranges) return propagate(ranges);
  StartReport own;
  auto prepared = expected(service->service.prepare(*ranges, &own));
  if (!prepared) return propagate(prepared);
  Gemms handles = handles_of(std::move(*prepared));
  return give_report(own, report).map([&] { hand_over(std::move(handles), gemms); });
}

}  // namespace
}  // namespace cubinet::capi

using namespace cubinet::capi;

cubinet_status cubinet_open(const cubinet_options* options, cubinet_service** service) {
  return guarded([&] {
    return check_given(service, "service")
        .and_then([&] { return options_of(options); })
        .and_then([](const cubinet::ServiceOptions& own) { return expected(cubinet::Service::open(own)); })
        .map([&](cubinet::Service&& opened) { *service = new cubinet_service{std::move(opened)}; });
  });
}

void cubinet_close(cubinet_service* service) { delete service; }

cubinet_status cubinet_start(const cubinet_options* options, const cubinet_problem* problems, size_t count,
                             cubinet_service** service, cubinet_gemm** gemms, cubinet_start_report* report) {
  return guarded([&] { return cubinet::capi::start(options, problems, count, service, gemms, report); });
}

cubinet_status cubinet_prepare(cubinet_service* service, const cubinet_problem* problems, size_t count,
                               cubinet_gemm** gemms, cubinet_start_report* report) {
  return guarded([&] { return cubinet::capi::prepare(service, problems, count, gemms, report); });
}

int32_t cubinet_is_capturing(void* stream) { return cubinet::capi::is_capturing(stream) ? 1 : 0; }

void cubinet_gemm_release(cubinet_gemm* gemm) { delete gemm; }

cubinet_status cubinet_background(const cubinet_service* service, cubinet_background_report* report) {
  return guarded([&] {
    return check_given(service, "service").and_then([&] { return check_given(report, "report"); }).and_then([&] {
      cubinet::BackgroundReport own = service->service.background();
      return give(report,
                  {sizeof(cubinet_background_report), own.pending, own.ready, own.failed,
                   keep(ReportText::failure, std::move(own.last_failure))},
                  "report");
    });
  });
}

cubinet_status cubinet_wait_for_background(const cubinet_service* service, double seconds, int32_t* done) {
  return guarded([&] {
    return check_given(service, "service").and_then([&] { return check_given(done, "done"); }).map([&] {
      *done = service->service.wait_for_background(seconds) ? 1 : 0;
    });
  });
}
