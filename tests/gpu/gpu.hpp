// What the tests on a device share: the service under test, and a verifier beside it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "cubinet/cubinet.hpp"
#include "jit/problems.hpp"
#include "support/gpu_session.hpp"
#include "support/test_problems.hpp"
#include "support/verifier.hpp"

namespace cubinet::tests {

using test::padded_m_indices;
using test::Random;
using warmup::contiguous_plan;
using warmup::masked_plan;
using warmup::ScaleOrder;

// The device of this process, opened by the first test that asks. Read from the environment: CUBINET_TEST_CACHE (the
// cabinet; by default a folder of temporary files), CUBINET_TEST_SEED, CUBINET_TEST_DEADLINE_S (of one launch, 20),
// CUBINET_TEST_DTYPE (bf16 or fp8: leave the tests of the other type out).
class Gpu {
 public:
  // Null with the reason when there is no driver, or no device that these kernels run on. Any other trouble throws.
  static Gpu* find(std::string& reason);

  [[nodiscard]] Service& service() { return service_; }
  [[nodiscard]] test::Verifier& verifier() { return verifier_; }
  [[nodiscard]] const jit::Driver& driver() const { return session_.device->driver(); }
  // Device, compiler and cabinet.
  [[nodiscard]] test::GpuSession& session() { return session_; }
  // Fresh for every process unless the environment gives it; printed once.
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  // Whether tests of this type are wanted.
  [[nodiscard]] bool wants(DataType type) const;
  // Another verifier, with buffers and a stream of its own.
  test::Verifier make_verifier();
  // Bytes of device memory that can still be had.
  [[nodiscard]] std::size_t free_bytes() const;

  // The problem prepared for the range. Throws, with the compiler's log, when it cannot be had.
  GroupedGemm prepare(const Problem& problem, MRange range);

  // Compiles, with all cores, every kernel that the problems can select up to kLargestM, so that prepare() finds them.
  void compile_ahead(const std::vector<Problem>& problems);

  // The quantiser. Throws likewise.
  Quantizer prepare_quantizer();

  // Runs the plan on fresh operands and returns what is wrong; empty when nothing is. FP8 is run with scales in either
  // order, and the outputs must agree to the bit.
  std::string complaint(const GroupedGemm& gemm, const warmup::RowPlan& plan, std::int64_t expected_m = 1);

 private:
  Expected<std::string> judge(const GroupedGemm& gemm, const warmup::RowPlan& plan, std::int64_t expected_m);
  Expected<std::string> compare_orders(const GroupedGemm& gemm, const warmup::RowPlan& plan, std::int64_t expected_m);
  Gpu(test::GpuSession session, Service service, std::uint64_t seed);
  static std::unique_ptr<Gpu> open(std::string& reason);

  test::GpuSession session_;
  jit::CurrentContext current_;
  Service service_;
  std::uint64_t seed_;
  test::Verifier verifier_;
};

// The largest M for which the tests prepare problems, unless they say otherwise.
constexpr std::int64_t kLargestM = 32768;

// Puts a launch of the verifier's plan on a stream.
Expected<void> launch(const GroupedGemm& gemm, const test::Verifier& verifier, std::int64_t expected_m, CUstream stream,
                      ScaleOrder order = ScaleOrder::column_major);

// An outcome of the public interface as one of the library's own.
Expected<void> outcome(const Status& status);

const char* name(ScaleOrder order);

// What K is a multiple of: 64 for bf16, 128 for fp8.
std::int64_t depth(DataType type);

// The orders of scales that a type's tests go through; bf16, which has none, is run once.
std::vector<ScaleOrder> orders(DataType type);

// One M of each configuration that the selector has for the problem up to kLargestM.
std::vector<std::int64_t> selecting_ms(const Problem& problem);

// "fp8 masked n=.. k=.. groups=.. rows=.. valid=..".
std::string describe(const warmup::RowPlan& plan);

// The root of the source tree: where this was built, else the present folder.
std::string source_root();

}  // namespace cubinet::tests

// `gpu_name` becomes the device, as below, and the test case is run once with `type` standing for each data type.
#define CUBINET_GPU_AND_TYPE(gpu_name, type)                     \
  CUBINET_GPU(gpu_name);                                         \
  const DataType type = GENERATE(DataType::bf16, DataType::fp8); \
  if (!(gpu_name).wants(type)) return;                           \
  INFO(cubinet::jit::data_type_name(type))

// `name` becomes the device; where there is none, the test case ends as skipped.
#define CUBINET_GPU(name)                                                             \
  std::string cubinet_no_gpu;                                                         \
  cubinet::tests::Gpu* const cubinet_gpu = cubinet::tests::Gpu::find(cubinet_no_gpu); \
  if (cubinet_gpu == nullptr) CUBINET_SKIP(cubinet_no_gpu);                           \
  cubinet::tests::Gpu& name = *cubinet_gpu
