#include "warmup/execution/verification_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "jit/provide.hpp"

namespace cubinet::warmup {
namespace {

constexpr std::int64_t kThreads = 256;
constexpr std::int64_t kColumnsPerTile = 128;
constexpr std::int64_t kMostBlocks = 132 * 16;  // for kernels that stride over their work

// What the tensor core may make of the sum over one block of 128 of K. It adds 32 products at a time to what it has,
// all shifted to the largest exponent among them and cut below about 14 bits. The operands have sigma 128, so a block's
// sum has sigma sqrt(128) * 128^2, about 2^17.5; the numbers that meet seldom reach 2^20, where the last of 14 bits is
// worth 2^6. Only products far below the largest lose bits at all: in a model of this arithmetic a block's error was
// 0.8 units in the mean, and 17 at most over 1.5 million blocks. 64 units are allowed, 1/45 of the sum's sigma. The
// errors are cut off in one direction, so they add up over the blocks as they are scaled, not as their squares do; the
// FP32 sum over the blocks adds nothing that counts.
constexpr float kFp8BlockSlack = 4096.0f;

std::int64_t blocks_for(std::int64_t work) { return std::clamp<std::int64_t>(work, 1, kMostBlocks); }

}  // namespace

double GroupSums::difference() const {
  const double both = xx + yy;
  return both == 0 ? 0 : 1 - 2 * xy / both;
}

float GroupSums::largest_error() const { return std::bit_cast<float>(largest_error_bits); }

float GroupSums::largest_share() const { return std::bit_cast<float>(largest_share_bits); }

Expected<VerificationKernels> VerificationKernels::open(std::shared_ptr<const jit::DeviceContext> device,
                                                        jit::Compiler& compiler, cache::Cabinet* cabinet) {
  const auto architecture = jit::architecture_for(device->info());
  if (!architecture) return propagate(architecture);
  const auto provided = jit::provide(jit::verification_spec(*architecture), compiler, cabinet);
  if (!provided) return propagate(provided);
  auto module = jit::LoadedModule::load(device, provided->object.payload, *architecture);
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
  long long elements = count;
  unsigned long long stream_seed = seed;
  unsigned long long first = 0;
  void* parameters[] = {&out, &elements, &stream_seed, &first};  // the kernel for e4m3 takes the first three
  return launch(type == DataType::fp8 ? fill_random_e4m3_ : fill_random_, blocks_for(count / (8 * kThreads)), 1,
                parameters, stream);
}

Expected<void> VerificationKernels::fill_scales(const ScaleView& scales, std::int64_t groups, std::int64_t blocks,
                                                CUdeviceptr valid, std::uint64_t seed, Garbage garbage,
                                                CUstream stream) const {
  const std::int64_t count = groups * scales.stored_rows * blocks;
  if (count == 0) return {};
  ScaleView view = scales;
  long long group_count = groups;
  long long block_count = blocks;
  unsigned long long stream_seed = seed;
  auto kind = static_cast<int>(garbage);
  void* parameters[] = {&view, &group_count, &block_count, &valid, &stream_seed, &kind};
  return launch(fill_scales_, blocks_for(count / kThreads), 1, parameters, stream);
}

Expected<void> VerificationKernels::spoil_rows(CUdeviceptr a, CUdeviceptr valid, std::int64_t rows,
                                               std::int64_t row_bytes, Garbage garbage, CUstream stream) const {
  if (rows == 0) return {};
  long long row_count = rows;
  long long pairs = row_bytes / 2;
  auto kind = static_cast<int>(garbage);
  void* parameters[] = {&a, &valid, &row_count, &pairs, &kind};
  return launch(spoil_rows_, blocks_for(rows), 1, parameters, stream);
}

Expected<void> VerificationKernels::check_product(const Product& product, CUdeviceptr sums, CUstream stream) const {
  if (product.tile_count == 0) return {};
  Product p = product;
  long long n = product.n;
  long long k = product.k;
  const std::int64_t column_tiles = (product.n + kColumnsPerTile - 1) / kColumnsPerTile;
  if (p.type == DataType::fp8) {
    float slack = kFp8BlockSlack;
    void* parameters[] = {&p.a, &p.b, &p.a_scales, &p.b_scales, &p.d, &p.rows, &p.tiles, &n, &k, &slack, &sums};
    return launch(check_fp8_product_, product.tile_count, column_tiles, parameters, stream);
  }
  // The sum of K products of sigma 1 has sigma sqrt(K); FP32 sums in two orders differ by far less than 1/2048 of it.
  auto slack = std::sqrt(static_cast<float>(product.k)) / 2048.0f;
  void* parameters[] = {&p.a, &p.b, &p.d, &p.rows, &p.tiles, &n, &k, &slack, &sums};
  return launch(check_product_, product.tile_count, column_tiles, parameters, stream);
}

Expected<void> VerificationKernels::count_writes(CUdeviceptr d, CUdeviceptr valid, std::int64_t rows, std::int64_t n,
                                                 std::uint16_t poison, CUdeviceptr counts, CUstream stream) const {
  if (rows == 0) return {};
  long long row_count = rows;
  long long width = n;
  unsigned pattern = poison;
  void* parameters[] = {&d, &valid, &row_count, &width, &pattern, &counts};
  return launch(count_writes_, blocks_for(rows), 1, parameters, stream);
}

Expected<void> VerificationKernels::count_differences(CUdeviceptr one, CUdeviceptr other, CUdeviceptr valid,
                                                      std::int64_t rows, std::int64_t n, CUdeviceptr count,
                                                      CUstream stream) const {
  if (rows == 0) return {};
  long long row_count = rows;
  long long width = n;
  void* parameters[] = {&one, &other, &valid, &row_count, &width, &count};
  return launch(count_differences_, blocks_for(rows), 1, parameters, stream);
}

Expected<void> VerificationKernels::empty(int blocks, CUstream stream) const {
  return launch(empty_, blocks, 1, nullptr, stream);
}

}  // namespace cubinet::warmup
