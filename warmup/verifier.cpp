#include "warmup/verifier.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace cubinet::warmup {
namespace {

// Bands before and after each operand, in elements. That of the output takes a whole tile of 256 rows written past the
// end at N up to 8192.
constexpr std::int64_t kBand = std::int64_t{2} << 20;
// A NaN that no arithmetic unit makes, so that it is told from a NaN that was computed.
constexpr std::uint16_t kPoison = 0xffa5;
constexpr std::uint16_t kNan = 0x7fff;
// Where kernels count: inside the output, in the band before it and in the band after it.
constexpr std::size_t kWriteCounters = 3;

CUdeviceptr after_band(const DeviceBuffer& buffer) { return buffer.address() + 2 * kBand; }

std::size_t bytes_with_bands(std::int64_t elements) { return static_cast<std::size_t>(2 * (elements + 2 * kBand)); }

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

std::int64_t weight_count(const Problem& p) { return p.groups * p.n * p.k; }

std::string complaint_about(const GroupSums& sums, std::size_t group) {
  if (sums.nans > 0) return fmt::format("group {}: {} of {} elements are NaN", group, sums.nans, sums.compared);
  if (!(sums.difference() < kAllowedDifference)) {
    return fmt::format("group {}: differs from the reference by {:.3g}, {:.0e} is allowed", group, sums.difference(),
                       kAllowedDifference);
  }
  if (sums.outliers > 0) {
    return fmt::format("group {}: {} of {} elements are wrong, by up to {:.3g}", group, sums.outliers, sums.compared,
                       sums.largest_error());
  }
  return {};
}

// `listed`: elements that were to be compared. A reference that did not run must not pass for agreement.
std::string complaint_about(const Verdict& verdict, std::uint64_t listed) {
  std::uint64_t compared = 0;
  for (const GroupSums& sums : verdict.groups) compared += sums.compared;
  if (compared != listed) return fmt::format("the reference compared {} of {} elements", compared, listed);
  if (verdict.guard_writes > 0) return fmt::format("{} elements written outside the output", verdict.guard_writes);
  if (verdict.writes.stray > 0) return fmt::format("{} elements written in rows not valid", verdict.writes.stray);
  if (verdict.writes.unwritten > 0) {
    return fmt::format("{} elements of valid rows not written", verdict.writes.unwritten);
  }
  for (std::size_t group = 0; group < verdict.groups.size(); ++group) {
    auto complaint = complaint_about(verdict.groups[group], group);
    if (!complaint.empty()) return complaint;
  }
  return {};
}

}  // namespace

Expected<Verifier> Verifier::open(const std::shared_ptr<const jit::DeviceContext>& device, jit::Compiler& compiler,
                                  cache::Cabinet* cabinet, VerifierOptions options) {
  if (!options.on_hang) throw std::logic_error("Verifier: on_hang is needed");
  auto kernels = VerificationKernels::open(device, compiler, cabinet);
  if (!kernels) return tl::make_unexpected(kernels.error());
  auto stream = make_stream(device->driver());
  if (!stream) return tl::make_unexpected(stream.error());
  return Verifier(device->shared_driver(), std::move(*kernels), std::move(*stream), std::move(options));
}

Verifier::Verifier(std::shared_ptr<const jit::Driver> driver, VerificationKernels kernels, DeviceStream stream,
                   VerifierOptions options)
    : driver_(std::move(driver)),
      kernels_(std::move(kernels)),
      stream_(std::move(stream)),
      options_(std::move(options)) {}

Expected<void> Verifier::reserve(std::int64_t a, std::int64_t b, std::int64_t d) {
  return a_.reserve(*driver_, bytes_with_bands(a))
      .and_then([&] { return b_.reserve(*driver_, bytes_with_bands(b)); })
      .and_then([&] { return d_.reserve(*driver_, bytes_with_bands(d)); })
      .and_then([&] { return kernels_.fill_random(after_band(a_), a, options_.seed, stream()); })
      .and_then([&] { return kernels_.fill_random(after_band(b_), b, options_.seed + 1, stream()); });
}

Expected<void> Verifier::load(const RowPlan& plan, Operands operands) {
  plan_ = plan;
  const Problem& p = plan_.problem;
  return a_.reserve(*driver_, bytes_with_bands(plan.rows * p.k))
      .and_then([&] { return b_.reserve(*driver_, bytes_with_bands(weight_count(p))); })
      .and_then([&] { return d_.reserve(*driver_, bytes_with_bands(plan.rows * p.n)); })
      .and_then([&] { return upload_rows(); })
      .and_then([&] { return operands == Operands::fresh ? fill_operands() : Expected<void>{}; });
}

Expected<void> Verifier::change_rows(const RowPlan& plan) {
  if (plan.problem != plan_.problem || plan.rows != plan_.rows) throw std::logic_error("change_rows: another problem");
  // The addresses stay: a captured graph holds them.
  plan_ = plan;
  return upload_rows().and_then([&] { return fill_operands(); });
}

Expected<void> Verifier::upload_rows() {
  return upload(selectors_, plan_.selectors.data(), plan_.selectors.size() * sizeof(std::int32_t)).and_then([&] {
    return upload(valid_, plan_.valid.data(), plan_.valid.size());
  });
}

Expected<void> Verifier::fill_operands() {
  const Problem& p = plan_.problem;
  const std::pair<const DeviceBuffer*, std::int64_t> operands[] = {{&a_, plan_.rows * p.k}, {&b_, weight_count(p)}};
  Expected<void> status;
  for (const auto& [buffer, elements] : operands) {
    const std::uint64_t seed = options_.seed + 2 + loads_++;
    const CUdeviceptr end = after_band(*buffer) + static_cast<CUdeviceptr>(2 * elements);
    status = std::move(status)
                 .and_then([&, band = buffer->address()] {
                   return driver_->check(driver_->cuMemsetD16Async(band, kNan, kBand, stream()), "filling a band");
                 })
                 .and_then([&, end] {
                   return driver_->check(driver_->cuMemsetD16Async(end, kNan, kBand, stream()), "filling a band");
                 })
                 .and_then([&, data = after_band(*buffer), count = elements] {
                   return kernels_.fill_random(data, count, seed, stream());
                 });
  }
  return std::move(status).and_then(
      [&] { return kernels_.spoil_rows(after_band(a_), valid_.address(), plan_.rows, p.k, stream()); });
}

Expected<void> Verifier::upload(DeviceBuffer& buffer, const void* data, std::size_t bytes) {
  // Some room even for nothing: a kernel may be handed the address.
  return buffer.reserve(*driver_, std::max<std::size_t>(bytes, 256)).and_then([&]() -> Expected<void> {
    if (bytes == 0) return {};
    return driver_->check(driver_->cuMemcpyHtoDAsync(buffer.address(), data, bytes, stream()), "copying to the device");
  });
}

ContiguousArguments Verifier::contiguous_arguments() const {
  return {pointer(after_band(a_)), pointer(after_band(b_)), pointer(after_band(d_)),
          static_cast<const std::int32_t*>(pointer(selectors_.address())), plan_.rows};
}

MaskedArguments Verifier::masked_arguments(std::int64_t expected_m) const {
  return {pointer(after_band(a_)), pointer(after_band(b_)),
          pointer(after_band(d_)), static_cast<const std::int32_t*>(pointer(selectors_.address())),
          plan_.capacity,          expected_m};
}

Expected<Verdict> Verifier::run(const std::string& what, const Launch& launch, std::int64_t step) {
  return poison().and_then([&] { return launch(stream()); }).and_then([&] { return wait(what); }).and_then([&] {
    return judge(step);
  });
}

Expected<void> Verifier::poison() {
  const auto elements = static_cast<std::size_t>(plan_.rows * plan_.problem.n + 2 * kBand);
  return driver_->check(driver_->cuMemsetD16Async(d_.address(), kPoison, elements, stream()), "poisoning the output");
}

Expected<void> Verifier::wait(const std::string& what) const { return wait(what, stream()); }

Expected<void> Verifier::wait(const std::string& what, CUstream stream) const {
  const auto limit = std::chrono::steady_clock::now() + options_.deadline;
  for (;;) {
    const CUresult result = driver_->cuStreamQuery(stream);
    if (result != CUDA_ERROR_NOT_READY) return driver_->check(result, what);
    if (std::chrono::steady_clock::now() > limit) {
      options_.on_hang(what);
      throw std::logic_error("Verifier: on_hang returned");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

Expected<Verdict> Verifier::judge(std::int64_t step) {
  return compare(step)
      .and_then([&] { return count_writes(); })
      .and_then([&] { return wait("the reference product"); })
      .and_then([&] { return read_verdict(); });
}

Expected<void> Verifier::compare(std::int64_t step) {
  const RowTiles tiles = tiles_of(plan_, step);
  listed_ = tiles.rows.size() * static_cast<std::uint64_t>(plan_.problem.n);
  const std::vector<GroupSums> zero(static_cast<std::size_t>(plan_.problem.groups));
  return upload(sums_, zero.data(), zero.size() * sizeof(GroupSums))
      .and_then([&] { return upload(rows_, tiles.rows.data(), tiles.rows.size() * sizeof(std::int32_t)); })
      .and_then([&] { return upload(tiles_, tiles.tiles.data(), tiles.tiles.size() * sizeof(RowTile)); })
      .and_then([&] {
        const auto count = static_cast<std::int64_t>(tiles.tiles.size());
        return kernels_.check_product({after_band(a_), after_band(b_), after_band(d_), rows_.address(),
                                       tiles_.address(), count, plan_.problem.n, plan_.problem.k},
                                      sums_.address(), stream());
      });
}

Expected<void> Verifier::count_writes() {
  const WriteCounts zero[kWriteCounters];
  const std::int64_t n = plan_.problem.n;
  const CUdeviceptr data = after_band(d_);
  const CUdeviceptr end = data + static_cast<CUdeviceptr>(2 * plan_.rows * n);
  constexpr std::int64_t band_rows = 2048;  // any cut of a band into rows will do
  const auto counter = [&](std::size_t index) { return counts_.address() + index * sizeof(WriteCounts); };
  return upload(counts_, zero, sizeof zero)
      .and_then(
          [&] { return kernels_.count_writes(data, valid_.address(), plan_.rows, n, kPoison, counter(0), stream()); })
      .and_then([&] {
        return kernels_.count_writes(d_.address(), 0, band_rows, kBand / band_rows, kPoison, counter(1), stream());
      })
      .and_then(
          [&] { return kernels_.count_writes(end, 0, band_rows, kBand / band_rows, kPoison, counter(2), stream()); });
}

Expected<Verdict> Verifier::read_verdict() {
  Verdict verdict;
  verdict.groups.resize(static_cast<std::size_t>(plan_.problem.groups));
  WriteCounts counts[kWriteCounters];
  const std::size_t bytes = verdict.groups.size() * sizeof(GroupSums);
  auto status =
      driver_
          ->check(driver_->cuMemcpyDtoHAsync(verdict.groups.data(), sums_.address(), bytes, stream()), "reading sums")
          .and_then([&] {
            return driver_->check(driver_->cuMemcpyDtoHAsync(counts, counts_.address(), sizeof counts, stream()),
                                  "reading counts");
          })
          .and_then([&] { return wait("reading the verdict"); });
  if (!status) return tl::make_unexpected(status.error());
  verdict.writes = counts[0];
  verdict.guard_writes = counts[1].stray + counts[2].stray;
  for (const GroupSums& sums : verdict.groups) {
    verdict.worst_difference = std::max(verdict.worst_difference, sums.difference());
    verdict.largest_error = std::max(verdict.largest_error, sums.largest_error());
  }
  verdict.complaint = complaint_about(verdict, listed_);
  return verdict;
}

}  // namespace cubinet::warmup
