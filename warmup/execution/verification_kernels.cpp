#include "warmup/execution/verification_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "jit/kernel_arguments.hpp"
#include "jit/problems.hpp"
#include "jit/provide.hpp"
#include "jit/target.hpp"

namespace cubinet::warmup {
namespace {

namespace shared = cubinet_verification;
using jit::DevicePointer;
using jit::KernelArguments;

constexpr std::int64_t kThreads = shared::kThreads;
constexpr std::int64_t kMostBlocks = 132 * 16;  // for kernels that stride over their work

// The error allowed in the tensor core's FP8 sum over one block of 128 of K, before scaling. The tensor core adds 32
// products at a time to its accumulator: all are shifted to the largest exponent among them and truncated to about 14
// bits. The operands have sigma 128, so a block's sum has sigma sqrt(128) * 128^2, about 2^17.5; the numbers that are
// added seldom reach 2^20, where the last of 14 bits is worth 2^6. Only products far below the largest lose bits: in a
// model of this arithmetic the error of a block was 0.8 such units in the mean, and 17 at most over 1.5 million blocks.
// 64 units are allowed, 1/45 of the sum's sigma. Truncation errs in one direction, so the scaled errors of the blocks
// add up linearly. The FP32 sum over the blocks adds no error that counts.
constexpr float kFp8BlockSlack = 4096.0f;

std::int64_t blocks_for(std::int64_t work) { return std::clamp<std::int64_t>(work, 1, kMostBlocks); }

}  // namespace

double difference(const GroupSums& sums) {
  const double both = sums.xx + sums.yy;
  return both == 0 ? 0 : 1 - 2 * sums.xy / both;
}

float largest_error(const GroupSums& sums) { return std::bit_cast<float>(sums.largest_error_bits); }

float largest_share(const GroupSums& sums) { return std::bit_cast<float>(sums.largest_share_bits); }

Expected<VerificationKernels> VerificationKernels::open(std::shared_ptr<const jit::DeviceContext> device,
                                                        jit::Compiler& compiler, cache::Cabinet* cabinet,
                                                        const jit::Registry& families) {
  const auto target = jit::target_of(device->info());
  if (!target) return propagate(target);
  const jit::Family* family = families.verification(target->architecture);
  if (family == nullptr) {
    return fail(ErrorCode::unsupported, "there are no verification kernels for " + target->architecture);
  }
  const auto provided = jit::provide(family->spec(), compiler, cabinet);
  if (!provided) return propagate(provided);
  auto module = jit::LoadedModule::load(device, provided->object.payload, target->architecture);
  if (!module) return propagate(module);
  VerificationKernels kernels(std::move(device), std::move(*module));
  if (const auto found = kernels.find_functions(); !found) return propagate(found);
  return kernels;
}

VerificationKernels::VerificationKernels(std::shared_ptr<const jit::DeviceContext> device,
                                         jit::LoadedModule module) noexcept
    : device_(std::move(device)), module_(std::move(module)) {}

Expected<void> VerificationKernels::find_functions() {
  const jit::EntryPoint entries[] = {{&fill_random_, "verification_fill_random"},
                                     {&fill_random_e4m3_, "verification_fill_random_e4m3"},
                                     {&fill_scales_, "verification_fill_scales"},
                                     {&spoil_rows_, "verification_spoil_rows"},
                                     {&check_product_, "verification_check_product"},
                                     {&check_fp8_product_, "verification_check_fp8_product"},
                                     {&count_writes_, "verification_count_writes"},
                                     {&count_differences_, "verification_count_differences"},
                                     {&empty_, "verification_empty"}};
  return module_.functions(entries);
}

Expected<void> VerificationKernels::launch(CUfunction function, std::int64_t blocks_x, std::int64_t blocks_y,
                                           void** parameters, CUstream stream) const {
  const jit::Driver& driver = device_->driver();
  return driver.check(driver.cuLaunchKernel(function, static_cast<unsigned>(blocks_x), static_cast<unsigned>(blocks_y),
                                            1, kThreads, 1, 1, 0, stream, parameters, nullptr),
                      "launching a verification kernel");
}

Expected<void> VerificationKernels::fill_random(CUdeviceptr out, DataType type, std::int64_t count, std::uint64_t seed,
                                                CUstream stream) const {
  if (count == 0) return {};
  const std::int64_t blocks = blocks_for(count / (8 * kThreads));
  if (jit::operands_of(type).a == jit::ElementType::e4m3) {
    KernelArguments<shared::FillRandomE4m3> arguments(DevicePointer(out), count, seed);
    return launch(fill_random_e4m3_, blocks, 1, arguments.addresses(), stream);
  }
  KernelArguments<shared::FillRandom> arguments(DevicePointer(out), count, seed, 0);
  return launch(fill_random_, blocks, 1, arguments.addresses(), stream);
}

Expected<void> VerificationKernels::fill_scales(const ScaleView& scales, std::int64_t groups, std::int64_t blocks,
                                                CUdeviceptr valid, std::uint64_t seed, Garbage garbage,
                                                CUstream stream) const {
  const std::int64_t count = groups * scales.stored_rows * blocks;
  if (count == 0) return {};
  KernelArguments<shared::FillScales> arguments(scales, groups, blocks, DevicePointer(valid), seed, garbage);
  return launch(fill_scales_, blocks_for(count / kThreads), 1, arguments.addresses(), stream);
}

Expected<void> VerificationKernels::spoil_rows(CUdeviceptr a, CUdeviceptr valid, std::int64_t rows,
                                               std::int64_t row_bytes, Garbage garbage, CUstream stream) const {
  if (rows == 0) return {};
  KernelArguments<shared::SpoilRows> arguments(DevicePointer(a), DevicePointer(valid), rows, row_bytes / 2, garbage);
  return launch(spoil_rows_, blocks_for(rows), 1, arguments.addresses(), stream);
}

Expected<void> VerificationKernels::check_product(const Product& product, CUdeviceptr sums, CUstream stream) const {
  if (product.tile_count == 0) return {};
  const Product& p = product;
  const DevicePointer a(p.a), b(p.b), d(p.d), rows(p.rows), tiles(p.tiles), group_sums(sums);
  const std::int64_t column_tiles = (p.n + shared::kTileColumns - 1) / shared::kTileColumns;
  if (jit::operands_of(p.type).a == jit::ElementType::e4m3) {
    KernelArguments<shared::CheckFp8Product> arguments(a, b, p.a_scales, p.b_scales, d, rows, tiles, p.n, p.k,
                                                       kFp8BlockSlack, group_sums);
    return launch(check_fp8_product_, p.tile_count, column_tiles, arguments.addresses(), stream);
  }
  // The sum of K products of sigma 1 has sigma sqrt(K); FP32 sums in two orders differ by far less than 1/2048 of it.
  const float slack = std::sqrt(static_cast<float>(p.k)) / 2048.0f;
  KernelArguments<shared::CheckProduct> arguments(a, b, d, rows, tiles, p.n, p.k, slack, group_sums);
  return launch(check_product_, p.tile_count, column_tiles, arguments.addresses(), stream);
}

Expected<void> VerificationKernels::count_writes(CUdeviceptr d, CUdeviceptr valid, std::int64_t rows, std::int64_t n,
                                                 std::uint16_t poison, CUdeviceptr counts, CUstream stream) const {
  if (rows == 0) return {};
  KernelArguments<shared::CountWrites> arguments(DevicePointer(d), DevicePointer(valid), rows, n, poison,
                                                 DevicePointer(counts));
  return launch(count_writes_, blocks_for(rows), 1, arguments.addresses(), stream);
}

Expected<void> VerificationKernels::count_differences(CUdeviceptr one, CUdeviceptr other, CUdeviceptr valid,
                                                      std::int64_t rows, std::int64_t n, CUdeviceptr count,
                                                      CUstream stream) const {
  if (rows == 0) return {};
  KernelArguments<shared::CountDifferences> arguments(DevicePointer(one), DevicePointer(other), DevicePointer(valid),
                                                      rows, n, DevicePointer(count));
  return launch(count_differences_, blocks_for(rows), 1, arguments.addresses(), stream);
}

Expected<void> VerificationKernels::empty(int blocks, CUstream stream) const {
  return launch(empty_, blocks, 1, nullptr, stream);
}

}  // namespace cubinet::warmup
