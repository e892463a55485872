// The service under test, a verifier, and helpers that all GPU tests share.
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

// Whether the text contains the part. A failure shows the text.
bool mentions(const std::string& text, const std::string& part);

using test::padded_m_indices;
using test::Random;
using warmup::contiguous_plan;
using warmup::masked_plan;
using warmup::ScaleOrder;

// The device under test, opened by the first test that asks for it. Environment variables:
//   CUBINET_TEST_CACHE       root of the cabinet; default: a temporary folder
//   CUBINET_TEST_SEED        seed of random numbers
//   CUBINET_TEST_DEADLINE_S  time limit of one launch in seconds; default: 20
//   CUBINET_TEST_DTYPE       bf16 or fp8: run only the tests of this type
class Gpu {
 public:
  // Returns null and sets `reason` if there is no driver, or no device that runs these kernels. Throws on any other
  // error.
  static Gpu* find(std::string& reason);

  [[nodiscard]] Service& service() { return service_; }
  [[nodiscard]] test::Verifier& verifier() { return verifier_; }
  [[nodiscard]] const jit::Driver& driver() const { return session_.device->driver(); }
  // The device, the compiler and the cabinet.
  [[nodiscard]] test::GpuSession& session() { return session_; }
  // The seed. New for every process unless the environment sets it; printed once.
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  // Whether tests of this type are to run.
  [[nodiscard]] bool wants(DataType type) const;
  // A second verifier, with its own buffers and stream.
  test::Verifier make_verifier();
  // Free device memory in bytes.
  [[nodiscard]] std::size_t free_bytes() const;

  // Prepares the problem for the range. Throws on failure, with the log of the compiler.
  GroupedGemm prepare(const Problem& problem, MRange range);

  // Compiles, on all cores, every kernel that the problems can select up to kLargestM, so that prepare() finds them.
  void compile_ahead(const std::vector<Problem>& problems);

  // Prepares the quantizer. Throws on failure, too.
  Quantizer prepare_quantizer();

  // Runs the plan on new random operands. Returns a description of the error, empty if the result is right. FP8 runs
  // with both layouts of scales, and the two outputs must be bit-identical.
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

// Launches the plan of the verifier on a stream.
Expected<void> launch(const GroupedGemm& gemm, const test::Verifier& verifier, std::int64_t expected_m, CUstream stream,
                      ScaleOrder order = ScaleOrder::column_major);

// Converts a Status of the public interface to an Expected.
Expected<void> outcome(const Status& status);

const char* name(ScaleOrder order);

// The number that K must be a multiple of: 64 for bf16, 128 for fp8.
std::int64_t depth(DataType type);

// The layouts of scales that the tests of a type try. bf16 has no scales; its list has one element.
std::vector<ScaleOrder> orders(DataType type);

// One M for each configuration that the selection has for the problem up to kLargestM.
std::vector<std::int64_t> selecting_ms(const Problem& problem);

// "fp8 masked n=.. k=.. groups=.. rows=.. valid=..".
std::string describe(const warmup::RowPlan& plan);

// The root of the source tree: the path from the build, or the current folder if that does not exist.
std::string source_root();

}  // namespace cubinet::tests

// Defines `gpu_name` as the device, like CUBINET_GPU, and runs the test case once for each data type `type`.
#define CUBINET_GPU_AND_TYPE(gpu_name, type)                     \
  CUBINET_GPU(gpu_name);                                         \
  const DataType type = GENERATE(DataType::bf16, DataType::fp8); \
  if (!(gpu_name).wants(type)) return;                           \
  INFO(cubinet::jit::data_type_name(type))

// Defines `name` as the device. Without a device, the test case ends as skipped.
#define CUBINET_GPU(name)                                                             \
  std::string cubinet_no_gpu;                                                         \
  cubinet::tests::Gpu* const cubinet_gpu = cubinet::tests::Gpu::find(cubinet_no_gpu); \
  if (cubinet_gpu == nullptr) CUBINET_SKIP(cubinet_no_gpu);                           \
  cubinet::tests::Gpu& name = *cubinet_gpu
