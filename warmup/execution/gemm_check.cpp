#include "warmup/execution/gemm_check.hpp"

#include <cstddef>
#include <utility>
#include <vector>

#include "jit/problems.hpp"

namespace cubinet::warmup {
namespace {

// GemmTensors::writes.
struct Writes {
  WriteCounts in_output;
  WriteCounts in_bands;
};

}  // namespace

Expected<void> GemmCheck::upload(CUdeviceptr to, const void* data, std::size_t bytes) const {
  if (bytes == 0) return {};
  return driver_.check(driver_.cuMemcpyHtoDAsync(to, data, bytes, stream_), "copying to the device");
}

Expected<void> GemmCheck::upload_rows(const GemmTensors& tensors, const RowPlan& plan) const {
  return upload(tensors.grouping, plan.grouping.data(), plan.grouping.size() * sizeof(std::int32_t)).and_then([&] {
    return upload(tensors.valid, plan.valid.data(), plan.valid.size());
  });
}

Expected<void> GemmCheck::fill_operands(const GemmTensors& tensors, const RowPlan& plan, std::uint64_t seed) const {
  const Problem& p = plan.problem;
  return kernels_.fill_random(tensors.a, p.data_type, plan.rows * p.k, seed, stream_).and_then([&] {
    return kernels_.fill_random(tensors.b, p.data_type, p.groups * p.n * p.k, seed + 1, stream_);
  });
}

Expected<void> GemmCheck::spoil_padding(const GemmTensors& tensors, const RowPlan& plan, Garbage garbage) const {
  const std::int64_t row_bytes = jit::element_bytes(jit::operands_of(plan.problem.data_type).a) * plan.problem.k;
  return kernels_.spoil_rows(tensors.a, tensors.valid, plan.rows, row_bytes, garbage, stream_);
}

Expected<void> GemmCheck::fill_a_scales(const GemmTensors& tensors, const RowPlan& plan, ScaleOrder order,
                                        std::uint64_t seed, Garbage garbage) const {
  if (!jit::has_scales(plan.problem.data_type)) return {};
  return kernels_.fill_scales(a_scale_view(tensors, plan, order), scale_groups(plan), scale_blocks(plan.problem.k),
                              tensors.valid, seed, garbage, stream_);
}

Expected<void> GemmCheck::fill_b_scales(const GemmTensors& tensors, const RowPlan& plan, std::uint64_t seed) const {
  if (!jit::has_scales(plan.problem.data_type)) return {};
  constexpr CUdeviceptr all_rows_valid = 0;
  return kernels_.fill_scales(b_scale_view(tensors, plan), plan.problem.groups, scale_blocks(plan.problem.k),
                              all_rows_valid, seed, Garbage::zeros, stream_);
}

Expected<void> GemmCheck::poison(const GuardedTensor& tensor) const {
  const auto pairs = static_cast<std::size_t>((tensor.bytes + 2 * tensor.band) / 2);
  if (pairs == 0) return {};
  const CUdeviceptr first = tensor.data - static_cast<CUdeviceptr>(tensor.band);
  return driver_.check(driver_.cuMemsetD16Async(first, kPoison, pairs, stream_), "poisoning a buffer");
}

Expected<void> GemmCheck::poison(const GemmTensors& tensors) const {
  return poison(tensors.d).and_then([&] { return poison(tensors.workspace); });
}

Expected<Verdict> GemmCheck::run(const GemmTensors& tensors, const RowPlan& plan, const std::string& what,
                                 const Launch& launch, std::int64_t step) const {
  return poison(tensors)
      .and_then([&] { return launch(stream_); })
      .and_then([&] { return watch_.wait(what, stream_); })
      .and_then([&] { return watch_.used(); })
      .and_then([&](std::int64_t) { return judge(tensors, plan, step); });
}

Expected<Verdict> GemmCheck::judge(const GemmTensors& tensors, const RowPlan& plan, std::int64_t step) const {
  const RowTiles tiles = tiles_of(plan, step);
  // The copies to the device read these while the stream works, so they live until the wait.
  const std::vector<GroupSums> no_sums(static_cast<std::size_t>(plan.problem.groups));
  const Writes no_writes;
  return upload(tensors.sums, no_sums.data(), no_sums.size() * sizeof(GroupSums))
      .and_then([&] { return upload(tensors.writes, &no_writes, sizeof no_writes); })
      .and_then([&] { return compare(tensors, plan, tiles); })
      .and_then([&] { return count_writes(tensors, plan); })
      .and_then([&] { return watch_.wait("the reference product", stream_); })
      .and_then(
          [&] { return read_verdict(tensors, plan, tiles.rows.size() * static_cast<std::uint64_t>(plan.problem.n)); });
}

Expected<void> GemmCheck::compare(const GemmTensors& tensors, const RowPlan& plan, const RowTiles& tiles) const {
  VerificationKernels::Product product;
  product.type = plan.problem.data_type;
  product.a = tensors.a;
  product.b = tensors.b;
  product.d = tensors.d.data;
  // The row-major scales, as they were filled. Their transposition to the workspace is part of the launch under test.
  product.a_scales = a_scale_view(tensors, plan, ScaleOrder::row_major);
  product.b_scales = b_scale_view(tensors, plan);
  product.rows = tensors.row_list;
  product.tiles = tensors.tiles;
  product.tile_count = static_cast<std::int64_t>(tiles.tiles.size());
  product.n = plan.problem.n;
  product.k = plan.problem.k;
  return upload(tensors.row_list, tiles.rows.data(), tiles.rows.size() * sizeof(std::int32_t))
      .and_then([&] { return upload(tensors.tiles, tiles.tiles.data(), tiles.tiles.size() * sizeof(RowTile)); })
      .and_then([&] { return kernels_.check_product(product, tensors.sums, stream_); });
}

Expected<void> GemmCheck::count_writes(const GemmTensors& tensors, const RowPlan& plan) const {
  const CUdeviceptr in_bands = tensors.writes + offsetof(Writes, in_bands);
  return kernels_
      .count_writes(tensors.d.data, tensors.valid, plan.rows, plan.problem.n, kPoison, tensors.writes, stream_)
      .and_then([&] { return count_in_bands(tensors.d, in_bands); })
      .and_then([&] { return count_in_bands(tensors.workspace, in_bands); });
}

// Counts the elements of both guard bands that no longer hold the poison.
Expected<void> GemmCheck::count_in_bands(const GuardedTensor& tensor, CUdeviceptr counts) const {
  if (tensor.band == 0) return {};
  constexpr std::int64_t rows = 2048;  // the kernel takes a matrix; its shape does not matter
  const auto count = [&](CUdeviceptr band) {
    constexpr CUdeviceptr no_row_valid = 0;
    return kernels_.count_writes(band, no_row_valid, rows, tensor.band / 2 / rows, kPoison, counts, stream_);
  };
  return count(tensor.data - static_cast<CUdeviceptr>(tensor.band)).and_then([&] {
    return count(tensor.data + static_cast<CUdeviceptr>(tensor.bytes));
  });
}

Expected<Verdict> GemmCheck::read_verdict(const GemmTensors& tensors, const RowPlan& plan, std::uint64_t listed) const {
  Verdict verdict;
  verdict.groups.resize(static_cast<std::size_t>(plan.problem.groups));
  Writes writes;
  const std::size_t bytes = verdict.groups.size() * sizeof(GroupSums);
  return driver_.check(driver_.cuMemcpyDtoH(verdict.groups.data(), tensors.sums, bytes), "reading the sums")
      .and_then([&] {
        return driver_.check(driver_.cuMemcpyDtoH(&writes, tensors.writes, sizeof writes), "reading the counts");
      })
      .map([&] {
        verdict.writes = writes.in_output;
        verdict.guard_writes = writes.in_bands.stray;
        conclude(verdict, listed, allowed_difference(plan.problem.data_type));
        return std::move(verdict);
      });
}

}  // namespace cubinet::warmup
