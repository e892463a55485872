// What the tests on a device share: the service under test, and a verifier beside it.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "catch.hpp"
#include "cubinet/cubinet.hpp"
#include "warmup/gpu_session.hpp"
#include "warmup/verifier.hpp"

namespace cubinet::tests {

using warmup::contiguous_labels;
using warmup::contiguous_plan;
using warmup::masked_plan;

// The device of this process, opened by the first test that asks. Read from the environment: CUBINET_TEST_CACHE (the
// cabinet; by default a folder of temporary files), CUBINET_TEST_SEED, CUBINET_TEST_DEADLINE_S (of one launch, 20).
class Gpu {
 public:
  // Null with the reason when there is no driver, or no device that these kernels run on. Any other trouble throws.
  static Gpu* find(std::string& reason);

  [[nodiscard]] Service& service() { return service_; }
  [[nodiscard]] warmup::Verifier& verifier() { return verifier_; }
  [[nodiscard]] const jit::Driver& driver() const { return session_.device->driver(); }
  // Fresh for every process unless the environment gives it; printed once.
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  // Another verifier, with buffers and a stream of its own.
  warmup::Verifier make_verifier();
  // Bytes of device memory that can still be had.
  [[nodiscard]] std::size_t free_bytes() const;

  // The problem prepared for the range. Throws, with the compiler's log, when it cannot be had.
  GroupedGemm prepare(const Problem& problem, MRange range);

  // Runs the plan on fresh operands and returns what is wrong; empty when nothing is.
  std::string complaint(const GroupedGemm& gemm, const warmup::RowPlan& plan, std::int64_t expected_m = 1);

 private:
  Gpu(warmup::GpuSession session, Service service, std::uint64_t seed);
  static std::unique_ptr<Gpu> open(std::string& reason);

  warmup::GpuSession session_;
  jit::CurrentContext current_;
  Service service_;
  std::uint64_t seed_;
  warmup::Verifier verifier_;
};

// The largest M for which the tests prepare problems, unless they say otherwise.
constexpr std::int64_t kLargestM = 32768;

// Puts a launch of the verifier's plan on a stream.
Expected<void> launch(const GroupedGemm& gemm, const warmup::Verifier& verifier, std::int64_t expected_m,
                      CUstream stream);

// One M of each configuration that the selector has for the problem up to kLargestM.
std::vector<std::int64_t> selecting_ms(const Problem& problem);

// "masked n=.. k=.. groups=.. rows=.. valid=..".
std::string describe(const warmup::RowPlan& plan);

// The root of the source tree: where this was built, else the present folder.
std::string source_root();

// Seeded drawing of test problems.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  // In [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  // True once in `times`.
  bool once_in(std::int64_t times) { return between(1, times) == 1; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace cubinet::tests

// `name` becomes the device; where there is none, the test case ends as skipped.
#define CUBINET_GPU(name)                                                             \
  std::string cubinet_no_gpu;                                                         \
  cubinet::tests::Gpu* const cubinet_gpu = cubinet::tests::Gpu::find(cubinet_no_gpu); \
  if (cubinet_gpu == nullptr) CUBINET_SKIP(cubinet_no_gpu);                           \
  cubinet::tests::Gpu& name = *cubinet_gpu
