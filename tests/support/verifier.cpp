#include "support/verifier.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "jit/problems.hpp"

namespace cubinet::test {
namespace {

using warmup::DeviceBuffer;
using warmup::Garbage;
using warmup::GemmTensors;
using warmup::RowPlan;
using warmup::Verdict;

std::int64_t output_bytes(const RowPlan& plan) { return 2 * plan.rows * plan.problem.n; }

}  // namespace

Expected<Verifier> Verifier::open(const std::shared_ptr<const jit::DeviceContext>& device, jit::Compiler& compiler,
                                  cache::Cabinet* cabinet, VerifierOptions options) {
  if (!options.on_hang) throw std::logic_error("Verifier: on_hang is needed");
  auto kernels = warmup::VerificationKernels::open(device, compiler, cabinet);
  if (!kernels) return propagate(kernels);
  auto stream = warmup::make_stream(device->driver());
  if (!stream) return propagate(stream);
  auto watch = warmup::DeviceWatch::start(device->driver(), options.deadline);
  if (!watch) return propagate(watch);
  return Verifier(device->shared_driver(), std::move(*kernels), std::move(*stream), *watch, std::move(options));
}

Verifier::Verifier(std::shared_ptr<const jit::Driver> driver, warmup::VerificationKernels kernels,
                   warmup::DeviceStream stream, warmup::DeviceWatch watch, VerifierOptions options)
    : driver_(std::move(driver)),
      kernels_(std::move(kernels)),
      stream_(std::move(stream)),
      watch_(watch),
      options_(std::move(options)) {}

OperandMemory& Verifier::operands() { return jit::has_scales(plan_.problem.data_type) ? fp8_ : bf16_; }

GemmTensors Verifier::tensors() const {
  GemmTensors tensors;
  (jit::has_scales(plan_.problem.data_type) ? fp8_ : bf16_).place_in(tensors);
  tensors.grouping = grouping_.address();
  tensors.d = {after_band(d_), output_bytes(plan_), kBandBytes};
  tensors.workspace = {after_band(workspace_), warmup::workspace_bytes(plan_), kBandBytes};
  tensors.valid = valid_.address();
  tensors.row_list = row_list_.address();
  tensors.tiles = tiles_.address();
  tensors.sums = sums_.address();
  tensors.writes = writes_.address();
  return tensors;
}

Expected<void> Verifier::reserve_for(const RowPlan& plan) {
  plan_ = plan;
  const std::int64_t rows = plan.rows;
  const std::int64_t groups = plan.problem.groups;
  const auto reserve = [&](DeviceBuffer& buffer, std::int64_t bytes) {
    // Never empty: a kernel may receive the address even if there is nothing to read.
    return buffer.reserve(*driver_, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 256)));
  };
  return operands()
      .reserve(*driver_, plan)
      .and_then([&] { return reserve_with_bands(d_, *driver_, output_bytes(plan)); })
      .and_then([&] { return reserve_with_bands(workspace_, *driver_, warmup::workspace_bytes(plan)); })
      .and_then(
          [&] { return reserve(grouping_, static_cast<std::int64_t>(sizeof(std::int32_t) * plan.grouping.size())); })
      .and_then([&] { return reserve(valid_, rows); })
      .and_then([&] { return reserve(row_list_, static_cast<std::int64_t>(sizeof(std::int32_t)) * rows); })
      .and_then([&] {
        return reserve(tiles_, static_cast<std::int64_t>(sizeof(warmup::RowTile)) * (rows / 64 + groups + 1));
      })
      .and_then([&] { return reserve(sums_, static_cast<std::int64_t>(sizeof(warmup::GroupSums)) * groups); })
      .and_then([&] { return reserve(writes_, 2 * sizeof(warmup::WriteCounts)); });
}

Expected<void> Verifier::reserve(const std::vector<RowPlan>& plans) {
  for (const RowPlan& plan : plans) {
    if (const auto status = reserve_for(plan); !status) return status;
  }
  // Fill only after all plans are reserved: a buffer that grows loses its contents.
  for (const RowPlan& plan : plans) {
    plan_ = plan;
    if (const auto status = check().fill_operands(tensors(), plan_, options_.seed); !status) return status;
  }
  return {};
}

Expected<void> Verifier::load(const RowPlan& plan, Operands kind) {
  return reserve_for(plan).and_then([&] { return check().upload_rows(tensors(), plan_); }).and_then([&] {
    return kind == Operands::fresh ? fill_operands() : fill_scales(Garbage::harsh);
  });
}

Expected<void> Verifier::change_rows(const RowPlan& plan) {
  if (plan.problem != plan_.problem || plan.rows != plan_.rows) throw std::logic_error("change_rows: another problem");
  // Do not allocate: a captured graph holds the addresses.
  plan_ = plan;
  return check().upload_rows(tensors(), plan_).and_then([&] { return fill_operands(); });
}

Expected<void> Verifier::fill_operands() {
  const std::uint64_t seed = options_.seed + 2 + 4 * loads_++;
  scale_seed_ = seed + 2;
  return operands()
      .fill_bands(*driver_, stream(), plan_)
      .and_then([&] { return check().fill_operands(tensors(), plan_, seed); })
      .and_then([&] { return change_padding(Garbage::harsh); });
}

Expected<void> Verifier::fill_scales(Garbage garbage) {
  const auto fill_a = [&](ScaleOrder order) {
    return check().fill_a_scales(tensors(), plan_, order, scale_seed_, garbage);
  };
  return fill_a(ScaleOrder::column_major).and_then([&] { return fill_a(ScaleOrder::row_major); }).and_then([&] {
    return check().fill_b_scales(tensors(), plan_, scale_seed_ + 1);
  });
}

Expected<void> Verifier::change_padding(Garbage garbage) {
  return check().spoil_padding(tensors(), plan_, garbage).and_then([&] { return fill_scales(garbage); });
}

ContiguousArguments Verifier::contiguous_arguments(ScaleOrder order) const {
  return warmup::contiguous_arguments(tensors(), plan_, order);
}

MaskedArguments Verifier::masked_arguments(std::int64_t expected_m, ScaleOrder order) const {
  return warmup::masked_arguments(tensors(), plan_, order, expected_m);
}

Expected<Verdict> Verifier::run(const std::string& what, const Launch& launch, std::int64_t step) {
  auto verdict = check().run(tensors(), plan_, what, launch, step);
  stop_if_hung(what);
  return verdict;
}

Expected<void> Verifier::poison() { return check().poison(tensors()); }

Expected<Verdict> Verifier::judge(std::int64_t step) {
  auto verdict = check().judge(tensors(), plan_, step);
  stop_if_hung("the reference product");
  return verdict;
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
  return differences_.reserve(*driver_, sizeof count)
      .and_then([&] {
        return driver_->check(driver_->cuMemcpyHtoDAsync(differences_.address(), &count, sizeof count, stream()),
                              "clearing the count");
      })
      .and_then([&] {
        return kernels_.count_differences(after_band(d_), after_band(aside_), valid_.address(), plan_.rows,
                                          plan_.problem.n, differences_.address(), stream());
      })
      .and_then([&] { return wait("comparing two outputs"); })
      .and_then([&] {
        return driver_->check(driver_->cuMemcpyDtoH(&count, differences_.address(), sizeof count), "reading the count");
      })
      .map([&] { return count; });
}

Expected<void> Verifier::wait(const std::string& what) { return wait(what, stream()); }

Expected<void> Verifier::wait(const std::string& what, CUstream stream) {
  auto ended = watch_.wait(what, stream);
  stop_if_hung(what);
  return ended;
}

void Verifier::stop_if_hung(const std::string& what) {
  if (!watch_.hung()) return;
  options_.on_hang(what);
  throw std::logic_error("Verifier: on_hang returned");
}

}  // namespace cubinet::test
