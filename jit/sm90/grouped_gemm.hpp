// The grouped-GEMM families of sm_90a: one kernel template (templates/sm90/grouped_gemm.cuh) with two data types and
// two layouts. A family of it is a ladder of tile configurations.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jit/families/family.hpp"
#include "jit/kernel.hpp"
#include "jit/sm90/tile_config.hpp"
#include "util/expected.hpp"

namespace cubinet::jit::sm90 {

// A rung of a ladder: `config` serves up to `rows` rows per group, inclusive.
struct Rung {
  std::int64_t rows;
  TileConfig config;
};

// The rows of a ladder's last rung.
inline constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

class GroupedGemm final : public GemmFamily {
 public:
  struct Description {
    std::string name;
    DataType data_type;
    Layout layout;
    std::vector<Rung> ladder;  // ascending; the last rung has no limit
    TileConfig generic;        // of the kernel with N and K at run time
    std::vector<const Family*> companions = {};
  };
  explicit GroupedGemm(Description description);

  // K is a multiple of 128 bytes of elements, N of 8; both are positive; 1 <= groups <= 65536; groups * N and K stay
  // below 2^31. Neither this nor the selection depends on the number of SMs.
  [[nodiscard]] Expected<void> can_run(const Problem& problem, const Target& target) const override;
  [[nodiscard]] std::vector<Selection> selections(const Problem& problem, MRange range,
                                                  const Target& target) const override;
  [[nodiscard]] KernelSpec generic() const override;
  [[nodiscard]] std::vector<KernelSpec> companions() const override;
  [[nodiscard]] std::int32_t dynamic_smem_bytes(const KernelSpec& spec) const override;
  [[nodiscard]] std::int64_t compile_weight(const KernelSpec& spec) const override;
  [[nodiscard]] std::vector<std::string> entry_points() const override { return {name()}; }
  [[nodiscard]] Expected<std::shared_ptr<const Kernel>> load(std::shared_ptr<const DeviceContext> device,
                                                             const KernelSpec& spec,
                                                             std::string_view cubin) const override;

  // The configuration that is selected for M. Preconditions as for selections().
  [[nodiscard]] const TileConfig& config_for(const Problem& problem, std::int64_t m) const {
    return rung_for(problem, m).config;
  }

  // The kernel for N and K with any configuration; 0 for both is a generic kernel.
  [[nodiscard]] KernelSpec spec_for(std::int64_t n, std::int64_t k, const TileConfig& config) const;

  // The configuration of one of the family's specs.
  [[nodiscard]] TileConfig config_of(const KernelSpec& spec) const;

 private:
  void describe_constants(KernelSpec& spec) const override;
  [[nodiscard]] const Rung& rung_for(const Problem& problem, std::int64_t m) const;
  [[nodiscard]] std::int64_t last_m(const Problem& problem, const Rung& rung) const;

  std::vector<Rung> ladder_;
  TileConfig generic_;
  std::vector<const Family*> companions_;
};

// For benchmarks and tests, which vary configurations: the family of a problem, a kernel of it with any configuration,
// and the configuration of a kernel. They throw for families that are not a GroupedGemm.
const GroupedGemm& family_of(const Problem& problem);
KernelSpec spec_for(const Problem& problem, const TileConfig& config);
TileConfig config_of(const KernelSpec& spec);

}  // namespace cubinet::jit::sm90
