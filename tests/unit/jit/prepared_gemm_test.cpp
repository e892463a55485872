#include "jit/prepared_gemm.hpp"
#include "jit/sm90/launch.hpp"

#include <array>
#include <cstring>
#include <limits>

#include "catch.hpp"
#include "fake_driver.hpp"

using namespace cubinet;
using test::aligned_pointer;

namespace {

constexpr Problem kBf16Contiguous{.layout = Layout::contiguous, .n = 256, .k = 128, .groups = 2};
constexpr Problem kBf16Masked{.layout = Layout::masked, .n = 256, .k = 128, .groups = 2};

constexpr jit::sm90::TileConfig kSmallConfig{.block_tokens = 64, .token_step = 16, .block_columns = 128, .stages = 4};

CUfunction function_number(std::uintptr_t number) { return reinterpret_cast<CUfunction>(number); }

// A kernel whose function is a number.
class NumberedKernel final : public jit::GemmKernel {
 public:
  NumberedKernel(jit::LoadedModule module, CUfunction function)
      : GemmKernel({}, std::move(module)), kernel_{function, kSmallConfig} {}
  Expected<void> launch(const Problem& problem, const jit::GemmArguments& arguments, CUstream stream) const override {
    return jit::sm90::launch(device().driver(), device().info(), kernel_, problem, arguments, stream);
  }

 private:
  jit::sm90::LaunchableKernel kernel_;
};

struct Served {
  MRange range;
  std::uintptr_t function;
};

// A GEMM with a separate function for each range of M.
jit::PreparedGemm prepared_for(const Problem& problem, const std::vector<Served>& stretches) {
  const auto device = test::make_fake_context();
  std::vector<jit::KernelTable::Row> rows;
  for (const Served& served : stretches) rows.push_back({served.range, {}});
  const auto table = std::make_shared<jit::KernelTable>(problem, rows);
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    auto module = jit::LoadedModule::load(device, "cubin", "sm_90a");
    table->set(i, std::make_shared<NumberedKernel>(std::move(*module), function_number(stretches[i].function)));
  }
  return {device, table->range(), table};
}

// Functions 101, 102 and 103 serve 5..9, 10..10 and 11..100.
jit::PreparedGemm prepared(const Problem& problem) {
  return prepared_for(problem, {{{5, 9}, 101}, {{10, 10}, 102}, {{11, 100}, 103}});
}

template <class Arguments>
Arguments with_operands() {
  Arguments arguments;
  arguments.a = arguments.b = aligned_pointer();
  arguments.d = const_cast<void*>(aligned_pointer());
  return arguments;
}

ContiguousArguments contiguous_arguments(std::int64_t m) {
  auto arguments = with_operands<ContiguousArguments>();
  arguments.m_indices = static_cast<const std::int32_t*>(aligned_pointer());
  arguments.m = m;
  return arguments;
}

MaskedArguments masked_arguments(std::int64_t capacity, std::int64_t expected_m) {
  auto arguments = with_operands<MaskedArguments>();
  arguments.masked_m = static_cast<const std::int32_t*>(aligned_pointer());
  arguments.capacity = capacity;
  arguments.expected_m = expected_m;
  return arguments;
}

ErrorCode code_of(const Expected<void>& outcome) {
  REQUIRE_FALSE(outcome);
  return outcome.error().code;
}

}  // namespace

TEST_CASE("Each M of the range launches the kernel that was prepared for it") {
  const auto gemm = prepared(kBf16Contiguous);
  for (std::int64_t m = 5; m <= 100; ++m) {
    REQUIRE(gemm.launch(contiguous_arguments(m), nullptr));
    const std::uintptr_t wanted = m < 10 ? 101 : m == 10 ? 102 : 103;
    CHECK(test::fake_device().launched == function_number(wanted));
  }
  CHECK(test::fake_device().launches == 96);
}

TEST_CASE("An M outside the prepared range is refused with the range") {
  const auto gemm = prepared(kBf16Contiguous);
  for (const std::int64_t m : {1, 4, 101, 1 << 30}) {
    const auto outcome = gemm.launch(contiguous_arguments(m), nullptr);
    CHECK(code_of(outcome) == ErrorCode::not_prepared);
    CHECK(outcome.error().message.find("5..100") != std::string::npos);
  }
  CHECK(test::fake_device().launches == 0);
}

TEST_CASE("expected_m is clamped to the prepared range, and a value below 1 means 1") {
  const auto gemm = prepared(kBf16Masked);
  const auto launched_for = [&](std::int64_t expected_m) {
    REQUIRE(gemm.launch(masked_arguments(64, expected_m), nullptr));
    return test::fake_device().launched;
  };
  CHECK(launched_for(std::numeric_limits<std::int64_t>::min()) == function_number(101));
  CHECK(launched_for(-1) == function_number(101));
  CHECK(launched_for(0) == function_number(101));
  CHECK(launched_for(1) == function_number(101));
  CHECK(launched_for(10) == function_number(102));
  CHECK(launched_for(std::numeric_limits<std::int64_t>::max()) == function_number(103));
}

TEST_CASE("With zero rows nothing is launched, without an error, whatever the other arguments are") {
  CHECK(prepared(kBf16Contiguous).launch(ContiguousArguments{}, nullptr));
  CHECK(prepared(kBf16Masked).launch(MaskedArguments{}, nullptr));
  CHECK(test::fake_device().launches == 0);
  CHECK(test::fake_device().pushes == test::fake_device().pops);
}

TEST_CASE("Negative sizes are refused") {
  CHECK(code_of(prepared(kBf16Contiguous).launch(contiguous_arguments(-1), nullptr)) == ErrorCode::invalid_argument);
  CHECK(code_of(prepared(kBf16Masked).launch(masked_arguments(-1, 1), nullptr)) == ErrorCode::invalid_argument);
}

TEST_CASE("More rows than TMA can address are refused") {
  const auto gemm = prepared_for(kBf16Contiguous, {{{1, std::numeric_limits<std::int64_t>::max()}, 101}});
  CHECK(gemm.launch(contiguous_arguments(0x7fffffff), nullptr));
  CHECK(code_of(gemm.launch(contiguous_arguments(0x80000000), nullptr)) == ErrorCode::invalid_argument);
  const auto masked = prepared(kBf16Masked);
  CHECK(masked.launch(masked_arguments(0x3fffffff, 8), nullptr));
  CHECK(code_of(masked.launch(masked_arguments(0x40000000, 8), nullptr)) == ErrorCode::invalid_argument);
}

TEST_CASE("Arguments of the other layout are refused, even with zero rows") {
  CHECK(code_of(prepared(kBf16Contiguous).launch(MaskedArguments{}, nullptr)) == ErrorCode::invalid_argument);
  CHECK(code_of(prepared(kBf16Masked).launch(ContiguousArguments{}, nullptr)) == ErrorCode::invalid_argument);
}

TEST_CASE("A null or misaligned operand is refused by name") {
  const auto gemm = prepared(kBf16Contiguous);
  const auto message = [&](const ContiguousArguments& arguments) {
    const auto outcome = gemm.launch(arguments, nullptr);
    CHECK(code_of(outcome) == ErrorCode::invalid_argument);
    return outcome.error().message;
  };
  auto arguments = contiguous_arguments(8);
  arguments.a = nullptr;
  CHECK(message(arguments) == "a is null");
  arguments = contiguous_arguments(8);
  arguments.b = reinterpret_cast<const void*>(0x10008);
  CHECK(message(arguments) == "b is not aligned to 16 bytes");
  arguments = contiguous_arguments(8);
  arguments.d = reinterpret_cast<void*>(0x10001);
  CHECK(message(arguments) == "d is not aligned to 16 bytes");
  arguments = contiguous_arguments(8);
  arguments.m_indices = reinterpret_cast<const std::int32_t*>(0x10002);
  CHECK(message(arguments) == "m_indices is not aligned to 4 bytes");
  arguments.m_indices = nullptr;
  CHECK(message(arguments) == "m_indices is null");
  CHECK(test::fake_device().launches == 0);
}

TEST_CASE("A launch goes to the given stream, and the device's context is current during the call") {
  const auto gemm = prepared(kBf16Masked);
  const int pushes = test::fake_device().pushes;
  auto* const stream = reinterpret_cast<CUstream>(0x77);
  REQUIRE(gemm.launch(masked_arguments(64, 8), stream));
  CHECK(test::fake_device().stream == stream);
  CHECK(test::fake_device().pushes == pushes + 1);
  CHECK(test::fake_device().current == nullptr);
  test::fake_device().current = test::fake_context();
  REQUIRE(gemm.launch(masked_arguments(64, 8), stream));
  CHECK(test::fake_device().pushes == pushes + 1);
}

TEST_CASE("A launch that the driver refuses is an error with the driver's reason") {
  const auto gemm = prepared(kBf16Masked);
  test::fake_device().launch_result = CUDA_ERROR_LAUNCH_FAILED;
  const auto outcome = gemm.launch(masked_arguments(64, 8), nullptr);
  CHECK(code_of(outcome) == ErrorCode::driver_failed);
  CHECK(outcome.error().message.find("CUDA_ERROR_FAKE") != std::string::npos);
}

TEST_CASE("m_indices are read back and checked") {
  const auto gemm = prepared(kBf16Contiguous);
  std::array<std::int32_t, 130> m_indices{};
  CHECK(gemm.check_m_indices(m_indices.data(), 130));
  CHECK(gemm.check_m_indices(nullptr, 0));
  m_indices[129] = 2;
  const auto outcome = gemm.check_m_indices(m_indices.data(), 130);
  CHECK(code_of(outcome) == ErrorCode::invalid_argument);
  CHECK(outcome.error().message.find("row 129") != std::string::npos);
  CHECK(gemm.check_m_indices(m_indices.data(), 129));
  CHECK(code_of(gemm.check_m_indices(nullptr, 1)) == ErrorCode::invalid_argument);
  CHECK(code_of(gemm.check_m_indices(m_indices.data(), -1)) == ErrorCode::invalid_argument);
  CHECK(code_of(gemm.check_m_indices(m_indices.data(), std::int64_t{1} << 62)) == ErrorCode::invalid_argument);
  CHECK(code_of(prepared(kBf16Masked).check_m_indices(m_indices.data(), 1)) == ErrorCode::invalid_argument);
}

TEST_CASE("A launch has one CTA per SM within the limit of SMs, in whole clusters") {
  const auto device = test::make_fake_context();
  const auto ctas = [&](int num_sms, std::int32_t cluster) {
    MaskedArguments arguments = masked_arguments(16, 8);
    arguments.num_sms = num_sms;
    jit::sm90::LaunchableKernel kernel{function_number(7), kSmallConfig};
    kernel.config.cluster = cluster;
    REQUIRE(jit::sm90::launch(device->driver(), device->info(), kernel, kBf16Masked,
                              jit::gemm_arguments(kBf16Masked, arguments), nullptr));
    return test::fake_device().history.back().ctas;
  };
  CHECK(ctas(0, 1) == 132);
  CHECK(ctas(1000, 1) == 132);
  CHECK(ctas(78, 1) == 78);
  CHECK(ctas(77, 2) == 76);
  CHECK(ctas(1, 2) == 2);
  auto negative = masked_arguments(16, 8);
  negative.num_sms = -1;
  CHECK(code_of(prepared(kBf16Masked).launch(negative, nullptr)) == ErrorCode::invalid_argument);
}

TEST_CASE("A launch keeps the tensor maps of its operands, and other operands at the same address get new ones") {
  const auto device = test::make_fake_context();
  CUkernel entry{};
  REQUIRE(device->driver().cuLibraryGetKernel(&entry, nullptr, "bf16_grouped_masked") == CUDA_SUCCESS);
  const jit::sm90::LaunchableKernel kernel{reinterpret_cast<CUfunction>(entry), kSmallConfig};
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<void*>(address); };
  const auto launch = [&](const Problem& problem, std::uintptr_t weights, std::uintptr_t output) {
    MaskedArguments arguments = masked_arguments(16, 8);
    arguments.b = at(weights);
    arguments.d = at(output);
    REQUIRE(jit::sm90::launch(device->driver(), device->info(), kernel, problem,
                              jit::gemm_arguments(problem, arguments), nullptr));
    std::array<test::FakeMap, 2> maps;
    const auto& block = test::fake_device().history.back().parameters;
    for (std::size_t i = 0; i < maps.size(); ++i) {
      std::memcpy(&maps[i], &block.at(i * sizeof(CUtensorMap) / 8), sizeof maps[i]);
    }
    const auto rows = [&](std::int64_t each) { return static_cast<std::uint64_t>(problem.groups * each); };
    CHECK(maps[0].base == weights);
    CHECK(maps[0].columns == static_cast<std::uint64_t>(problem.k));
    CHECK(maps[0].rows == rows(problem.n));
    CHECK(maps[1].base == output);
    CHECK(maps[1].columns == static_cast<std::uint64_t>(problem.n));
    CHECK(maps[1].rows == rows(16));
  };
  Problem other = kBf16Masked;
  other.n += 8;
  // More layers than the cache has places, each with its own weights and the output of the layer before.
  for (std::uintptr_t layer = 1; layer <= 1000; ++layer) {
    launch(kBf16Masked, layer << 20, (layer - 1) % 2 == 0 ? 0x700000000 : 0x700010000);
    launch(other, layer << 20, 0x700000000);
  }
  const int before = test::fake_device().encoded_maps;
  launch(other, std::uintptr_t{1000} << 20, 0x700000000);
  CHECK(test::fake_device().encoded_maps == before);
}
