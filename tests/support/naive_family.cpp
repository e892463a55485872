#include "support/naive_family.hpp"

#include <algorithm>
#include <utility>

#include "jit/kernel.hpp"

namespace cubinet::test {
namespace {

// The template. Its only constant is the number of threads per CTA. N and K are arguments of the launch.
constexpr const char* kTemplate = R"(
namespace {

__device__ float widened(unsigned short bits) { return __uint_as_float(static_cast<unsigned>(bits) << 16); }

// Rounds to nearest even.
__device__ unsigned short rounded(float value) {
  const unsigned bits = __float_as_uint(value);
  return static_cast<unsigned short>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(cubinet::constants::kThreads)
naive_masked(const unsigned short* a, const unsigned short* b, unsigned short* d, const int* masked_m,
             long long groups, long long capacity, long long n, long long k) {
  const long long elements = groups * capacity * n;
  const long long step = static_cast<long long>(gridDim.x) * cubinet::constants::kThreads;
  for (long long i = blockIdx.x * static_cast<long long>(cubinet::constants::kThreads) + threadIdx.x; i < elements;
       i += step) {
    const long long row = i / n, column = i % n, group = row / capacity;
    if (row % capacity >= masked_m[group]) continue;
    float sum = 0;
    for (long long j = 0; j < k; ++j) sum += widened(a[row * k + j]) * widened(b[(group * n + column) * k + j]);
    d[i] = rounded(sum);
  }
}
)";

constexpr std::int32_t kThreads = 128;
constexpr int kCtasPerSm = 8;

const std::vector<jit::TemplateFile>& naive_templates() {
  static const std::vector<jit::TemplateFile> files{jit::make_template_file("naive_masked.cuh", kTemplate)};
  return files;
}

class NaiveKernel final : public jit::GemmKernel {
 public:
  NaiveKernel(const jit::KernelSpec& spec, jit::LoadedModule module, CUfunction function)
      : GemmKernel(spec, std::move(module)), function_(function) {}

  [[nodiscard]] Expected<void> launch(const Problem& problem, const jit::GemmArguments& arguments,
                                      CUstream stream) const override {
    const auto threads = static_cast<std::int64_t>(std::get<std::int32_t>(spec().constants.front()));
    const int sms = arguments.num_sms > 0 ? arguments.num_sms : device().info().num_sms;
    const std::int64_t needed = (arguments.total_rows * problem.n + threads - 1) / threads;
    const auto ctas = static_cast<unsigned>(std::min<std::int64_t>(needed, std::int64_t{sms} * kCtasPerSm));
    const void* a = arguments.a;
    const void* b = arguments.b;
    void* d = arguments.d;
    const void* masked_m = arguments.grouping;
    long long sizes[] = {problem.groups, arguments.rows, problem.n, problem.k};
    void* parameters[] = {&a, &b, &d, &masked_m, &sizes[0], &sizes[1], &sizes[2], &sizes[3]};
    const jit::Driver& driver = device().driver();
    return driver.check(driver.cuLaunchKernel(function_, ctas, 1, 1, static_cast<unsigned>(threads), 1, 1, 0, stream,
                                              parameters, nullptr),
                        "launching naive_masked");
  }

 private:
  CUfunction function_;
};

class NaiveFamily final : public jit::GemmFamily {
 public:
  NaiveFamily()
      : GemmFamily("naive_masked", "sm_90a", DataType::bf16, Layout::masked, {{"kThreads", std::int32_t{0}}},
                   naive_templates()) {}

  [[nodiscard]] Expected<void> can_run(const Problem& problem, const jit::Target&) const override {
    if (problem.n > 0 && problem.k > 0 && problem.groups > 0) return {};
    return fail(ErrorCode::unsupported, "N, K and groups must be positive");
  }
  [[nodiscard]] std::vector<jit::Selection> selections(const Problem&, MRange range,
                                                       const jit::Target&) const override {
    return {{range, generic()}};
  }
  [[nodiscard]] jit::KernelSpec generic() const override { return spec({kThreads}); }
  [[nodiscard]] std::vector<std::string> entry_points() const override { return {name()}; }
  [[nodiscard]] Expected<std::shared_ptr<const jit::Kernel>> load(std::shared_ptr<const jit::DeviceContext> device,
                                                                  const jit::KernelSpec& spec,
                                                                  std::string_view cubin) const override {
    auto module = jit::LoadedModule::load(std::move(device), cubin, spec.architecture);
    if (!module) return propagate(module);
    const auto function = module->function(name());
    if (!function) return propagate(function);
    return std::make_shared<const NaiveKernel>(spec, std::move(*module), *function);
  }

 private:
  void describe_constants(jit::KernelSpec& spec) const override {
    spec.config = "x" + jit::text_of(spec.constants.front());
  }
};

}  // namespace

const jit::GemmFamily& naive_family() {
  static const NaiveFamily family;
  return family;
}

const jit::Registry& naive_registry() {
  static const jit::Registry registry({{.architecture = "sm_90a", .gemms = {&naive_family()}}});
  return registry;
}

}  // namespace cubinet::test
