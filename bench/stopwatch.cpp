#include "stopwatch.hpp"

#include <algorithm>

namespace cubinet::bench {
namespace {

constexpr std::size_t kFlushedBytes = std::size_t{256} << 20;
constexpr double kFlushUs = 80;  // approximate time of one flush

}  // namespace

Expected<Stopwatch> Stopwatch::make(const jit::Driver& driver, test::Verifier& verifier) {
  Stopwatch watch(driver, verifier);
  if (const auto room = watch.flushed_.reserve(driver, kFlushedBytes); !room) return propagate(room);
  for (int i = 0; i < kMostLaunches; ++i) {
    auto start = warmup::make_event(driver);
    if (!start) return propagate(start);
    auto end = warmup::make_event(driver);
    if (!end) return propagate(end);
    watch.events_.emplace_back(std::move(*start), std::move(*end));
  }
  return watch;
}

Expected<void> Stopwatch::enqueue(const Launch& launch, std::size_t index) {
  const CUstream stream = verifier_->stream();
  const auto& [start, end] = events_[index];
  return driver_->check(driver_->cuMemsetD32Async(flushed_.address(), 0, kFlushedBytes / 4, stream), "flushing the L2")
      .and_then(
          [&, event = start.get()] { return driver_->check(driver_->cuEventRecord(event, stream), "cuEventRecord"); })
      .and_then([&] { return launch(stream); })
      .and_then(
          [&, event = end.get()] { return driver_->check(driver_->cuEventRecord(event, stream), "cuEventRecord"); });
}

Expected<double> Stopwatch::median_us(const std::string& what, const Launch& launch, int launches) {
  const auto count = static_cast<std::size_t>(std::clamp(launches, 1, kMostLaunches));
  Expected<void> status;
  for (std::size_t i = 0; i < count && status; ++i) status = enqueue(launch, i);
  if (status) status = verifier_->wait(what);
  std::vector<float> times(count);
  for (std::size_t i = 0; i < count && status; ++i) {
    status = driver_->check(driver_->cuEventElapsedTime(&times[i], events_[i].first.get(), events_[i].second.get()),
                            "cuEventElapsedTime");
  }
  if (!status) return propagate(status);
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(count / 2), times.end());
  return 1e3 * static_cast<double>(times[count / 2]);
}

Expected<double> Stopwatch::steady_us(const std::string& what, const Launch& launch, double budget_ms) {
  const auto first = median_us(what, launch, 3);
  if (!first) return first;
  const int launches = std::clamp(static_cast<int>(budget_ms * 1e3 / (*first + kFlushUs)), 5, kMostLaunches);
  const auto warm = median_us(what, launch, std::max(2, launches / 3));
  if (!warm) return warm;
  return median_us(what, launch, launches);
}

}  // namespace cubinet::bench
