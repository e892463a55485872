#include "warmup/execution/executor.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "jit/kernel_spec.hpp"
#include "jit/selector.hpp"

namespace cubinet::warmup {
namespace {

constexpr std::uint32_t kNanScale = 0x7fc00000;

// What the reference may take: it runs on the CUDA cores, at some 10^13 of these a second.
constexpr double kMostReferenceFlop = 4e11;

// Every how many valid rows of a group one is compared; all writes are counted in any case.
std::int64_t step_for(const RowPlan& plan) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(plan.flop() / kMostReferenceFlop));
}

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

std::string describe(const RowPlan& plan) {
  return fmt::format("{} N={} K={} groups={} rows={}", jit::family_of(plan.problem), plan.problem.n, plan.problem.k,
                     plan.problem.groups, plan.rows);
}

}  // namespace

GroupedExecutor::GroupedExecutor(ExecutorBench& bench, const Problem& problem, std::int64_t largest_m,
                                 const ExecutorLayout& layout, DeviceBuffer memory)
    : bench_(&bench), problem_(problem), largest_m_(largest_m), layout_(layout), memory_(std::move(memory)) {}

Expected<DeviceBuffer> GroupedExecutor::allocate(ExecutorBench& bench, const std::optional<ExecutorLayout>& layout) {
  if (!layout) return fail(ErrorCode::invalid_argument, "no kernel can run with so many rows");
  DeviceBuffer memory;
  return memory.reserve(bench.device.driver(), static_cast<std::size_t>(layout->bytes))
      .and_then([&] { return bench.watch.used(); })
      .map([&](std::int64_t) { return std::move(memory); });
}

std::optional<std::int64_t> GroupedExecutor::required_bytes(std::int64_t m) const {
  const auto layout = executor_layout(problem_, m);
  if (!layout) return std::nullopt;
  return layout->bytes;
}

CUdeviceptr GroupedExecutor::at(const Extent& extent) const {
  return memory_.address() + static_cast<CUdeviceptr>(extent.offset);
}

OperandPlaces GroupedExecutor::places() const {
  return {at(layout_.a), at(layout_.b), at(layout_.scale_workspace), at(layout_.row_scales), at(layout_.weight_scales)};
}

Expected<Verdict> GroupedExecutor::execute(std::int64_t m) {
  if (m < 1) return fail(ErrorCode::invalid_argument, fmt::format("m is {}, and must be at least 1", m));
  const auto kernel = bench_->kernels(problem_, jit::select(problem_, m, {bench_->device.info().num_sms}));
  if (!kernel) return propagate(kernel);
  return execute(m, *kernel);
}

Expected<Verdict> GroupedExecutor::execute(std::int64_t m, const jit::LaunchableKernel& kernel) {
  const bool masked = problem_.layout == Layout::masked;
  if (m < 1 || (!masked && m > largest_m_)) {
    return fail(ErrorCode::invalid_argument, fmt::format("m is {}, and must be from 1 to {}", m, largest_m_));
  }
  const std::uint64_t seed = bench_->seed + 4 * executions_++;
  const RowPlan plan = plan_rows(m, seed);
  return prepare(plan, seed)
      .and_then([&] { return launch(plan, m, kernel); })
      .and_then([&] { return bench_->watch.wait(describe(plan), bench_->stream); })
      .and_then([&] { return bench_->watch.used(); })
      .and_then([&](std::int64_t) { return judge(plan); });
}

Expected<void> GroupedExecutor::upload(const Extent& extent, const void* data, std::size_t bytes) {
  if (bytes == 0) return {};
  const jit::Driver& driver = bench_->device.driver();
  return driver.check(driver.cuMemcpyHtoDAsync(at(extent), data, bytes, bench_->stream), "copying to the device");
}

// Operands, spoiled where no row is valid, and a poisoned output.
Expected<void> GroupedExecutor::prepare(const RowPlan& plan, std::uint64_t seed) {
  const jit::Driver& driver = bench_->device.driver();
  const Filler filler{driver, bench_->verification, bench_->stream};
  return upload(layout_.selectors, plan.selectors.data(), plan.selectors.size() * sizeof(std::int32_t))
      .and_then([&] { return upload(layout_.valid, plan.valid.data(), plan.valid.size()); })
      .and_then([&] { return fill_operands(filler, plan, places(), seed); })
      .and_then([&] { return spoil_operands(filler, plan, places(), at(layout_.valid), Garbage::harsh); })
      .and_then([&] { return fill_scales(plan, seed + 2); })
      .and_then([&] {
        const auto elements = static_cast<std::size_t>(plan.rows * problem_.n);
        return driver.check(driver.cuMemsetD16Async(at(layout_.d), kPoison, elements, bench_->stream),
                            "poisoning the output");
      });
}

Expected<void> GroupedExecutor::fill_scales(const RowPlan& plan, std::uint64_t seed) {
  if (problem_.data_type != DataType::fp8) return {};
  const jit::Driver& driver = bench_->device.driver();
  const Filler filler{driver, bench_->verification, bench_->stream};
  return fill_row_scales(filler, plan, places(), ScaleOrder::row_major, at(layout_.valid), seed, Garbage::harsh)
      .and_then([&] { return fill_weight_scales(filler, plan, places(), seed + 1); })
      .and_then([&] {
        const auto words = static_cast<std::size_t>(layout_.scale_workspace.bytes / 4);
        return driver.check(driver.cuMemsetD32Async(at(layout_.scale_workspace), kNanScale, words, bench_->stream),
                            "filling the workspace");
      });
}

Expected<Verdict> GroupedExecutor::judge(const RowPlan& plan) {
  const RowTiles tiles = tiles_of(plan, step_for(plan));
  return compare(plan, tiles)
      .and_then([&] {
        return bench_->verification.count_writes(at(layout_.d), at(layout_.valid), plan.rows, problem_.n, kPoison,
                                                 at(layout_.writes), bench_->stream);
      })
      .and_then([&] { return bench_->watch.wait("the reference product", bench_->stream); })
      .and_then([&] { return read_verdict(tiles.rows.size() * static_cast<std::uint64_t>(problem_.n)); });
}

Expected<void> GroupedExecutor::compare(const RowPlan& plan, const RowTiles& tiles) {
  const std::vector<GroupSums> no_sums(static_cast<std::size_t>(problem_.groups));
  const WriteCounts no_writes;
  VerificationKernels::Product product;
  product.type = problem_.data_type;
  product.a = at(layout_.a);
  product.b = at(layout_.b);
  product.d = at(layout_.d);
  // The scales as they were made: what the transposition made of them is under test.
  product.a_scales = row_scale_view(plan, places(), ScaleOrder::row_major);
  product.b_scales = weight_scale_view(plan, places());
  product.rows = at(layout_.row_list);
  product.tiles = at(layout_.tiles);
  product.tile_count = static_cast<std::int64_t>(tiles.tiles.size());
  product.n = problem_.n;
  product.k = problem_.k;
  return upload(layout_.sums, no_sums.data(), no_sums.size() * sizeof(GroupSums))
      .and_then([&] { return upload(layout_.writes, &no_writes, sizeof no_writes); })
      .and_then([&] { return upload(layout_.row_list, tiles.rows.data(), tiles.rows.size() * sizeof(std::int32_t)); })
      .and_then([&] { return upload(layout_.tiles, tiles.tiles.data(), tiles.tiles.size() * sizeof(RowTile)); })
      .and_then([&] { return bench_->verification.check_product(product, at(layout_.sums), bench_->stream); })
      // The lists are copied from the caller's memory, and the caller is not to go on before they are.
      .and_then([&] { return bench_->watch.wait("the reference product", bench_->stream); });
}

Expected<Verdict> GroupedExecutor::read_verdict(std::uint64_t listed) {
  const jit::Driver& driver = bench_->device.driver();
  Verdict verdict;
  verdict.groups.resize(static_cast<std::size_t>(problem_.groups));
  const std::size_t bytes = verdict.groups.size() * sizeof(GroupSums);
  return driver.check(driver.cuMemcpyDtoH(verdict.groups.data(), at(layout_.sums), bytes), "reading the sums")
      .and_then([&] {
        return driver.check(driver.cuMemcpyDtoH(&verdict.writes, at(layout_.writes), sizeof verdict.writes),
                            "reading the counts");
      })
      .map([&] {
        conclude(verdict, listed, allowed_difference(problem_.data_type));
        return std::move(verdict);
      });
}

template <DataType type, Layout shape>
Expected<FamilyExecutor<type, shape>> FamilyExecutor<type, shape>::open(ExecutorBench& bench,
                                                                        const ExecutorShape& wanted) {
  const Problem problem{type, shape, wanted.n, wanted.k, wanted.groups};
  if (const auto taken = jit::can_run(problem); !taken) return propagate(taken);
  const auto layout = executor_layout(problem, wanted.largest_m);
  auto memory = allocate(bench, layout);
  if (!memory) return propagate(memory);
  return FamilyExecutor(bench, problem, wanted.largest_m, *layout, std::move(*memory));
}

template <DataType type, Layout shape>
RowPlan FamilyExecutor<type, shape>::plan_rows(std::int64_t m, std::uint64_t seed) const {
  if constexpr (shape == Layout::masked) {
    return random_masked_plan(problem(), std::min(m, largest_m()), seed);
  } else {
    return random_contiguous_plan(problem(), m, seed);
  }
}

template <DataType type, Layout shape>
auto FamilyExecutor<type, shape>::arguments_for(const RowPlan& plan, std::int64_t m) const -> Arguments {
  Arguments arguments;
  arguments.a = pointer(at(layout().a));
  arguments.b = pointer(at(layout().b));
  arguments.d = pointer(at(layout().d));
  const auto* selectors = static_cast<const std::int32_t*>(pointer(at(layout().selectors)));
  if constexpr (shape == Layout::masked) {
    arguments.masked_m = selectors;
    arguments.capacity = plan.capacity;
    arguments.expected_m = m;
  } else {
    arguments.m_indices = selectors;
    arguments.m = plan.rows;
  }
  arguments.a_scales = row_scale_tensor(plan, places(), ScaleOrder::column_major);
  arguments.b_scales = weight_scale_tensor(plan, places());
  return arguments;
}

template <DataType type, Layout shape>
Expected<void> FamilyExecutor<type, shape>::transpose_scales(const RowPlan& plan) {
  if constexpr (type == DataType::bf16) return {};
  const CUdeviceptr row_counts = shape == Layout::masked ? at(layout().selectors) : 0;
  ++bench().launches;
  return bench().quantization->transpose_scales(at(layout().row_scales), at(layout().scale_workspace), row_counts,
                                                scale_groups(plan), scale_rows(plan), scale_blocks(problem().k),
                                                bench().stream);
}

template <DataType type, Layout shape>
Expected<void> FamilyExecutor<type, shape>::launch(const RowPlan& plan, std::int64_t m,
                                                   const jit::LaunchableKernel& kernel) {
  return transpose_scales(plan).and_then([&] {
    ++bench().launches;
    return jit::launch(bench().device.driver(), kernel, problem(), bench().device.info().num_sms,
                       arguments_for(plan, m), bench().stream);
  });
}

template class FamilyExecutor<DataType::bf16, Layout::contiguous>;
template class FamilyExecutor<DataType::bf16, Layout::masked>;
template class FamilyExecutor<DataType::fp8, Layout::contiguous>;
template class FamilyExecutor<DataType::fp8, Layout::masked>;

namespace {

template <class Executor>
Expected<std::unique_ptr<GroupedExecutor>> opened(ExecutorBench& bench, const ExecutorShape& shape) {
  return Executor::open(bench, shape).map([](Executor executor) -> std::unique_ptr<GroupedExecutor> {
    return std::make_unique<Executor>(std::move(executor));
  });
}

}  // namespace

Expected<std::unique_ptr<GroupedExecutor>> make_executor(ExecutorBench& bench, const Problem& problem,
                                                         std::int64_t largest_m) {
  const ExecutorShape shape{problem.n, problem.k, problem.groups, largest_m};
  const bool masked = problem.layout == Layout::masked;
  if (problem.data_type == DataType::fp8) {
    return masked ? opened<Fp8GroupedMaskedExecutor>(bench, shape) : opened<Fp8GroupedContiguousExecutor>(bench, shape);
  }
  return masked ? opened<Bf16GroupedMaskedExecutor>(bench, shape) : opened<Bf16GroupedContiguousExecutor>(bench, shape);
}

}  // namespace cubinet::warmup
