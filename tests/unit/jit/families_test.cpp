// Compares the table of families in docs/kernels.md with the registry.
#include <fstream>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "catch.hpp"
#include "jit/families/registry.hpp"

using namespace cubinet;

namespace {

const char* text_of(jit::ElementType type) { return type == jit::ElementType::bf16 ? "bf16" : "e4m3"; }

// "up to 96: `t128x128u16s6c1b0p`; ...; above: `t256x128u64s4c2b8`", in rows per group.
std::string ladder_of(const jit::GemmFamily& family) {
  const Problem problem{family.data_type(), family.layout(), 4096, 7168, 1};
  std::string text;
  for (const auto& one : family.selections(problem, {1, std::numeric_limits<std::int64_t>::max()}, {})) {
    const bool last = one.range.last == std::numeric_limits<std::int64_t>::max();
    text += last ? fmt::format("above: `{}`", one.spec.config)
                 : fmt::format("up to {}: `{}`; ", one.range.last, one.spec.config);
  }
  return text;
}

std::string row_of(const jit::GemmFamily& family) {
  const jit::Operands& operands = family.operands();
  return fmt::format("| `{}` | {} x {} -> {}{} | {} | `{}` |", family.name(), text_of(operands.a), text_of(operands.b),
                     text_of(operands.d), operands.a_scales == jit::ScaleForm::none ? "" : ", scaled",
                     ladder_of(family), family.generic().config);
}

}  // namespace

TEST_CASE("The table of families in docs/kernels.md equals the registry") {
  std::ifstream stream(CUBINET_SOURCE_DIR "/docs/kernels.md");
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  for (const auto& architecture : jit::families().architectures()) {
    for (const jit::GemmFamily* family : architecture.gemms) {
      INFO(row_of(*family));
      CHECK(text.find(row_of(*family) + "\n") != std::string::npos);
    }
  }
}

TEST_CASE("A registry finds exactly its own families by name and architecture") {
  const auto& families = jit::families();
  for (const auto& architecture : families.architectures()) {
    for (const jit::GemmFamily* family : architecture.gemms) {
      CHECK(family->architecture() == architecture.architecture);
      CHECK(families.find(family->name(), architecture.architecture) == family);
      CHECK(families.find(family->name(), "sm_80") == nullptr);
      const Problem problem{family->data_type(), family->layout(), 4096, 7168, 4};
      CHECK(families.for_problem(problem).value() == family);
    }
    for (const jit::Family* family : {architecture.quantization, architecture.verification}) {
      REQUIRE(family != nullptr);
      CHECK(families.find(family->name(), architecture.architecture) == family);
    }
  }
  CHECK(families.find("grouped_gemm", "sm_90a") == nullptr);
}
