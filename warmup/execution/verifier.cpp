#include "warmup/execution/verifier.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace cubinet::warmup {
namespace {

// Where kernels count: inside the output, in the bands before and after it, in those of the workspace.
constexpr std::size_t kWriteCounters = 5;

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

std::int64_t output_bytes(const RowPlan& plan) { return 2 * plan.rows * plan.problem.n; }

}  // namespace

Expected<Verifier> Verifier::open(const std::shared_ptr<const jit::DeviceContext>& device, jit::Compiler& compiler,
                                  cache::Cabinet* cabinet, VerifierOptions options) {
  if (!options.on_hang) throw std::logic_error("Verifier: on_hang is needed");
  auto kernels = VerificationKernels::open(device, compiler, cabinet);
  if (!kernels) return propagate(kernels);
  auto stream = make_stream(device->driver());
  if (!stream) return propagate(stream);
  return Verifier(device->shared_driver(), std::move(*kernels), std::move(*stream), std::move(options));
}

Verifier::Verifier(std::shared_ptr<const jit::Driver> driver, VerificationKernels kernels, DeviceStream stream,
                   VerifierOptions options)
    : driver_(std::move(driver)),
      kernels_(std::move(kernels)),
      stream_(std::move(stream)),
      options_(std::move(options)) {}

OperandMemory& Verifier::operands() { return plan_.problem.data_type == DataType::fp8 ? fp8_ : bf16_; }

const OperandMemory& Verifier::operands() const { return plan_.problem.data_type == DataType::fp8 ? fp8_ : bf16_; }

Expected<void> Verifier::reserve_for(const RowPlan& plan) {
  plan_ = plan;
  return operands()
      .reserve(*driver_, plan_)
      .and_then([&] { return reserve_with_bands(d_, *driver_, output_bytes(plan_)); })
      .and_then([&] { return reserve_with_bands(workspace_, *driver_, workspace_bytes(plan_)); });
}

Expected<void> Verifier::reserve(const std::vector<RowPlan>& plans) {
  for (const RowPlan& plan : plans) {
    if (const auto status = reserve_for(plan); !status) return status;
  }
  // Filled once there is room for all: growth loses what was there.
  for (const RowPlan& plan : plans) {
    plan_ = plan;
    if (const auto status = operands().fill(filler(), plan_, options_.seed); !status) return status;
  }
  return {};
}

Expected<void> Verifier::load(const RowPlan& plan, Operands kind) {
  return reserve_for(plan).and_then([&] { return upload_rows(); }).and_then([&] {
    if (kind == Operands::fresh) return fill_operands();
    return operands().fill_scales(filler(), plan_, valid_.address(), scale_seed_, Garbage::harsh);
  });
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
  const std::uint64_t seed = options_.seed + 2 + 4 * loads_++;
  scale_seed_ = seed + 2;
  return operands()
      .fill_bands(filler(), plan_)
      .and_then([&] { return operands().fill(filler(), plan_, seed); })
      .and_then([&] { return change_padding(Garbage::harsh); });
}

Expected<void> Verifier::change_padding(Garbage garbage) {
  return operands().spoil(filler(), plan_, valid_.address(), garbage).and_then([&] {
    return operands().fill_scales(filler(), plan_, valid_.address(), scale_seed_, garbage);
  });
}

Expected<void> Verifier::upload(DeviceBuffer& buffer, const void* data, std::size_t bytes) {
  // Some room even for nothing: a kernel may be handed the address.
  return buffer.reserve(*driver_, std::max<std::size_t>(bytes, 256)).and_then([&]() -> Expected<void> {
    if (bytes == 0) return {};
    return driver_->check(driver_->cuMemcpyHtoDAsync(buffer.address(), data, bytes, stream()), "copying to the device");
  });
}

template <class Arguments>
Arguments Verifier::common_arguments(ScaleOrder order) const {
  Arguments arguments;
  arguments.a = pointer(operands().a());
  arguments.b = pointer(operands().b());
  arguments.d = pointer(after_band(d_));
  arguments.a_scales = operands().a_scales(plan_, order);
  arguments.b_scales = operands().b_scales(plan_);
  if (plan_.problem.data_type == DataType::fp8 && order == ScaleOrder::row_major) {
    arguments.workspace = {pointer(after_band(workspace_)), workspace_bytes(plan_)};
  }
  return arguments;
}

ContiguousArguments Verifier::contiguous_arguments(ScaleOrder order) const {
  auto arguments = common_arguments<ContiguousArguments>(order);
  arguments.m_indices = static_cast<const std::int32_t*>(pointer(selectors_.address()));
  arguments.m = plan_.rows;
  return arguments;
}

MaskedArguments Verifier::masked_arguments(std::int64_t expected_m, ScaleOrder order) const {
  auto arguments = common_arguments<MaskedArguments>(order);
  arguments.masked_m = static_cast<const std::int32_t*>(pointer(selectors_.address()));
  arguments.capacity = plan_.capacity;
  arguments.expected_m = expected_m;
  return arguments;
}

Expected<Verdict> Verifier::run(const std::string& what, const Launch& launch, std::int64_t step) {
  return poison().and_then([&] { return launch(stream()); }).and_then([&] { return wait(what); }).and_then([&] {
    return judge(step);
  });
}

Expected<void> Verifier::poison() {
  const auto fill = [&](const DeviceBuffer& buffer, std::int64_t bytes) {
    const auto pairs = static_cast<std::size_t>(bytes / 2 + kBandBytes);
    return driver_->check(driver_->cuMemsetD16Async(buffer.address(), kPoison, pairs, stream()), "poisoning a buffer");
  };
  return fill(d_, output_bytes(plan_)).and_then([&] { return fill(workspace_, workspace_bytes(plan_)); });
}

Expected<void> Verifier::set_output_aside() {
  std::swap(d_, aside_);
  return reserve_with_bands(d_, *driver_, output_bytes(plan_));
}

Expected<std::uint64_t> Verifier::count_differences() {
  if (aside_.bytes() < static_cast<std::size_t>(output_bytes(plan_))) {
    throw std::logic_error("count_differences: no output of this plan was set aside");
  }
  std::uint64_t count = 0;
  return upload(counts_, &count, sizeof count)
      .and_then([&] {
        return kernels_.count_differences(after_band(d_), after_band(aside_), valid_.address(), plan_.rows,
                                          plan_.problem.n, counts_.address(), stream());
      })
      .and_then([&] {
        return driver_->check(driver_->cuMemcpyDtoHAsync(&count, counts_.address(), sizeof count, stream()),
                              "reading the count");
      })
      .and_then([&] { return wait("comparing two outputs"); })
      .map([&] { return count; });
}

Expected<void> Verifier::wait(const std::string& what) const { return wait(what, stream()); }

Expected<void> Verifier::wait(const std::string& what, CUstream stream) const {
  if (auto ended = await_stream(*driver_, stream, options_.deadline, what)) return *std::move(ended);
  options_.on_hang(what);
  throw std::logic_error("Verifier: on_hang returned");
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
        VerificationKernels::Product product;
        product.type = plan_.problem.data_type;
        product.a = operands().a();
        product.b = operands().b();
        product.d = after_band(d_);
        product.a_scales = operands().a_view(plan_, ScaleOrder::column_major);
        product.b_scales = operands().b_view(plan_);
        product.rows = rows_.address();
        product.tiles = tiles_.address();
        product.tile_count = static_cast<std::int64_t>(tiles.tiles.size());
        product.n = plan_.problem.n;
        product.k = plan_.problem.k;
        return kernels_.check_product(product, sums_.address(), stream());
      });
}

Expected<void> Verifier::count_writes() {
  const WriteCounts zero[kWriteCounters];
  const auto counter = [&](std::size_t index) { return counts_.address() + index * sizeof(WriteCounts); };
  const auto count_in_bands = [&](const DeviceBuffer& buffer, std::int64_t bytes, std::size_t index) {
    constexpr std::int64_t rows = 2048;  // any cut of a band into rows will do
    const auto in_band = [&](CUdeviceptr band, CUdeviceptr counts) {
      return kernels_.count_writes(band, 0, rows, kBandBytes / 2 / rows, kPoison, counts, stream());
    };
    return in_band(buffer.address(), counter(index)).and_then([&] {
      return in_band(after_band(buffer) + static_cast<CUdeviceptr>(bytes), counter(index + 1));
    });
  };
  return upload(counts_, zero, sizeof zero)
      .and_then([&] {
        return kernels_.count_writes(after_band(d_), valid_.address(), plan_.rows, plan_.problem.n, kPoison, counter(0),
                                     stream());
      })
      .and_then([&] { return count_in_bands(d_, output_bytes(plan_), 1); })
      .and_then([&] { return count_in_bands(workspace_, workspace_bytes(plan_), 3); });
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
  if (!status) return propagate(status);
  verdict.writes = counts[0];
  for (std::size_t i = 1; i < kWriteCounters; ++i) verdict.guard_writes += counts[i].stray;
  conclude(verdict, listed_, allowed_difference(plan_.problem.data_type));
  return verdict;
}

}  // namespace cubinet::warmup
