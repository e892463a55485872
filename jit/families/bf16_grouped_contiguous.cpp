#include "jit/families/bf16_tile_configs.hpp"
#include "jit/families/shipped_families.hpp"
#include "jit/sm90/grouped_gemm.hpp"

namespace cubinet::jit {

const GemmFamily& bf16_grouped_contiguous() {
  static const sm90::GroupedGemm family({
      .name = "bf16_grouped_contiguous",
      .data_type = DataType::bf16,
      .layout = Layout::contiguous,
      .ladder = {{2048, bf16::kMedium}, {sm90::kNoLimit, bf16::kLarge}},
      .generic = bf16::kMedium,
  });
  return family;
}

}  // namespace cubinet::jit
