#include "jit/sm90/grouped_gemm.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "jit/families/registry.hpp"
#include "jit/problems.hpp"
#include "jit/sm90/launch.hpp"

namespace cubinet::jit::sm90 {
namespace {

constexpr std::int64_t kColumnStep = 8;  // 16 bytes of a row of D
constexpr std::int32_t kMaxGroups = 65536;
constexpr std::int64_t kMaxCoordinate = std::numeric_limits<std::int32_t>::max();  // of TMA

// N, K and the configuration as the template's constants.
struct Values {
  std::int64_t n = 0;
  std::int64_t k = 0;
  TileConfig config;
};

// Calls `visit` for each constant of the template with its name and the member that holds its value.
template <class OfValues, class Visit>
void for_each_constant(OfValues& values, Visit visit) {
  auto& config = values.config;
  visit("kN", values.n);
  visit("kK", values.k);
  visit("kBlockTokens", config.block_tokens);
  visit("kTokenStep", config.token_step);
  visit("kBlockColumns", config.block_columns);
  visit("kStages", config.stages);
  visit("kCluster", config.cluster);
  visit("kRasterBand", config.raster_band);
  visit("kLargestFirst", config.largest_first);
  visit("kPrefetchWeights", config.prefetch_weights);
  visit("kTokensOnM", config.tokens_on_m);
}

std::vector<Constant> declared_constants() {
  std::vector<Constant> constants;
  const Values initial;
  for_each_constant(initial, [&](const char* name, auto value) { constants.push_back({name, value}); });
  return constants;
}

std::vector<ConstantValue> constants_of(const Values& values) {
  std::vector<ConstantValue> constants;
  for_each_constant(values, [&](const char*, auto value) { constants.emplace_back(value); });
  return constants;
}

Values values_of(const KernelSpec& spec) {
  Values values;
  auto next = spec.constants.begin();
  for_each_constant(
      values, [&](const char*, auto& value) { value = std::get<std::remove_reference_t<decltype(value)>>(*next++); });
  return values;
}

class LoadedGroupedGemm final : public GemmKernel {
 public:
  LoadedGroupedGemm(const KernelSpec& spec, LoadedModule module, const LaunchableKernel& kernel)
      : GemmKernel(spec, std::move(module)), kernel_(kernel) {}

  [[nodiscard]] Expected<void> launch(const Problem& problem, const GemmArguments& arguments,
                                      CUstream stream) const override {
    return sm90::launch(device().driver(), device().info(), kernel_, problem, arguments, stream);
  }

 private:
  LaunchableKernel kernel_;
};

}  // namespace

GroupedGemm::GroupedGemm(Description description)
    : GemmFamily(std::move(description.name), "sm_90a", description.data_type, description.layout,
                 declared_constants()),
      ladder_(std::move(description.ladder)),
      generic_(description.generic),
      companions_(std::move(description.companions)) {}

Expected<void> GroupedGemm::can_run(const Problem& problem, const Target& /*target*/) const {
  const auto refuse = [](std::string rule) { return fail(ErrorCode::unsupported, std::move(rule)); };
  if (problem.n < 1 || problem.k < 1) {
    return refuse(fmt::format("N and K must be positive: N={}, K={}", problem.n, problem.k));
  }
  const std::int64_t depth = stage_depth(static_cast<int>(element_bytes(operands().a)));
  if (problem.k % depth != 0) {
    return refuse(
        fmt::format("K must be a multiple of {} for {}: K={}", depth, find_data_type(data_type())->title, problem.k));
  }
  if (problem.n % kColumnStep != 0) {
    return refuse(fmt::format("N must be a multiple of {}: N={}", kColumnStep, problem.n));
  }
  if (problem.groups < 1 || problem.groups > kMaxGroups) {
    return refuse(fmt::format("groups must be from 1 to {}: groups={}", kMaxGroups, problem.groups));
  }
  if (problem.k > kMaxCoordinate || problem.n > kMaxCoordinate / problem.groups) {
    return refuse(fmt::format("groups * N and K must stay below 2^31 (TMA coordinates): groups={}, N={}, K={}",
                              problem.groups, problem.n, problem.k));
  }
  return {};
}

// The last M that a rung serves.
std::int64_t GroupedGemm::last_m(const Problem& problem, const Rung& rung) const {
  if (rung.rows == kNoLimit || layout() == Layout::masked) return rung.rows;
  return rung.rows * problem.groups;
}

const Rung& GroupedGemm::rung_for(const Problem& problem, std::int64_t m) const {
  return *std::find_if(ladder_.begin(), ladder_.end() - 1,
                       [&](const Rung& rung) { return m <= last_m(problem, rung); });
}

std::vector<Selection> GroupedGemm::selections(const Problem& problem, MRange range, const Target& /*target*/) const {
  std::vector<Selection> result;
  for (std::int64_t m = range.first;;) {
    const Rung& rung = rung_for(problem, m);
    const std::int64_t last = std::min(range.last, last_m(problem, rung));
    result.push_back({{m, last}, spec_for(problem.n, problem.k, rung.config)});
    if (last == range.last) return result;  // the successor of the largest M there is would overflow
    m = last + 1;
  }
}

KernelSpec GroupedGemm::spec_for(std::int64_t n, std::int64_t k, const TileConfig& config) const {
  return spec(constants_of({n, k, config}));
}

KernelSpec GroupedGemm::generic() const { return spec_for(0, 0, generic_); }

std::vector<KernelSpec> GroupedGemm::companions() const {
  std::vector<KernelSpec> specs;
  for (const Family* companion : companions_) specs.push_back(companion->spec());
  return specs;
}

TileConfig GroupedGemm::config_of(const KernelSpec& spec) const {
  TileConfig config = values_of(spec).config;
  config.scaled = has_scales(data_type());
  return config;
}

void GroupedGemm::describe_constants(KernelSpec& spec) const {
  const Values values = values_of(spec);
  spec.n = values.n;
  spec.k = values.k;
  spec.config = sm90::name(values.config);
}

std::int32_t GroupedGemm::dynamic_smem_bytes(const KernelSpec& spec) const {
  return sm90::dynamic_smem_bytes(config_of(spec));
}

std::int64_t GroupedGemm::compile_weight(const KernelSpec& spec) const { return sm90::compile_weight(config_of(spec)); }

Expected<std::shared_ptr<const Kernel>> GroupedGemm::load(std::shared_ptr<const DeviceContext> device,
                                                          const KernelSpec& spec, std::string_view cubin) const {
  const CurrentContext current(*device);
  if (auto entered = current.status(); !entered) return propagate(entered);
  auto module = LoadedModule::load(device, cubin, spec.architecture);
  if (!module) return propagate(module);
  const auto function = module->function(name());
  if (!function) return propagate(function);
  const LaunchableKernel kernel{*function, config_of(spec)};
  if (auto ready = prepare_for_launch(device->driver(), kernel); !ready) return propagate(ready);
  return std::make_shared<const LoadedGroupedGemm>(spec, std::move(*module), kernel);
}

const GroupedGemm& family_of(const Problem& problem) {
  return dynamic_cast<const GroupedGemm&>(*families().for_problem(problem).value());
}

KernelSpec spec_for(const Problem& problem, const TileConfig& config) {
  return family_of(problem).spec_for(problem.n, problem.k, config);
}

TileConfig config_of(const KernelSpec& spec) { return dynamic_cast<const GroupedGemm&>(*spec.family).config_of(spec); }

}  // namespace cubinet::jit::sm90
