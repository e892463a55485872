#include "jit/families/fp8_tile_configs.hpp"
#include "jit/families/shipped_families.hpp"
#include "jit/sm90/grouped_gemm.hpp"

namespace cubinet::jit {

const GemmFamily& fp8_grouped_contiguous() {
  static const sm90::GroupedGemm family({
      .name = "fp8_grouped_contiguous",
      .data_type = DataType::fp8,
      .layout = Layout::contiguous,
      .ladder = {{2048, fp8::kMedium}, {sm90::kNoLimit, fp8::kLarge}},
      .generic = fp8::kMedium,
      .companions = {&fp8_quantization()},
  });
  return family;
}

}  // namespace cubinet::jit
