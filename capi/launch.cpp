// Launches. A launch that succeeds allocates nothing.
#include "capi/handles.hpp"
#include "capi/support.hpp"
#include "jit/problems.hpp"

namespace cubinet::capi {
namespace {

// The arguments of the C++ interface.
ContiguousArguments arguments_of(const cubinet_contiguous_args& given) {
  return {given.a,
          given.b,
          given.d,
          given.m_indices,
          given.m,
          scales_of(given.a_scales),
          scales_of(given.b_scales),
          {given.workspace, given.workspace_bytes},
          given.num_sms};
}

MaskedArguments arguments_of(const cubinet_masked_args& given) {
  return {given.a,
          given.b,
          given.d,
          given.masked_m,
          given.capacity,
          given.expected_m,
          scales_of(given.a_scales),
          scales_of(given.b_scales),
          {given.workspace, given.workspace_bytes},
          given.num_sms};
}

Expected<void> check_type(const cubinet_gemm& gemm, DataType type) {
  const DataType own = gemm.gemm.problem().data_type;
  if (own == type) [[likely]]
    return {};
  return fail(ErrorCode::invalid_argument, std::string("gemm is of ") + jit::data_type_name(own) +
                                               " operands, and this launches " + jit::data_type_name(type));
}

template <class Given>
cubinet_status launch(const cubinet_gemm* gemm, const Given* given, DataType type, void* stream) noexcept {
  return guarded([&]() -> Expected<void> {
    if (auto there = check_given(gemm, "gemm"); !there) return there;
    const auto arguments = taken(given, "args");
    if (!arguments) return propagate(arguments);
    if (arguments->reserved != 0) return fail(ErrorCode::unsupported, "args.reserved must be 0");
    if (auto same = check_type(*gemm, type); !same) return same;
    Status launched = gemm->gemm.launch(arguments_of(*arguments), stream);
    if (launched.ok()) [[likely]]
      return {};
    return fail(launched.error());
  });
}

}  // namespace
}  // namespace cubinet::capi

using cubinet::DataType;
using cubinet::capi::launch;

cubinet_status cubinet_launch_bf16_grouped_contiguous(const cubinet_gemm* gemm, const cubinet_contiguous_args* args,
                                                      void* stream) {
  return launch(gemm, args, DataType::bf16, stream);
}

cubinet_status cubinet_launch_bf16_grouped_masked(const cubinet_gemm* gemm, const cubinet_masked_args* args,
                                                  void* stream) {
  return launch(gemm, args, DataType::bf16, stream);
}

cubinet_status cubinet_launch_fp8_grouped_contiguous(const cubinet_gemm* gemm, const cubinet_contiguous_args* args,
                                                     void* stream) {
  return launch(gemm, args, DataType::fp8, stream);
}

cubinet_status cubinet_launch_fp8_grouped_masked(const cubinet_gemm* gemm, const cubinet_masked_args* args,
                                                 void* stream) {
  return launch(gemm, args, DataType::fp8, stream);
}

cubinet_status cubinet_check_m_indices(const cubinet_gemm* gemm, const int32_t* m_indices, int64_t m) {
  using namespace cubinet::capi;
  return guarded([&] {
    return check_given(gemm, "gemm")
        .and_then([&] { return expected(gemm->gemm.check_m_indices(m_indices, m)); })
        .map([](std::monostate) {});
  });
}

int64_t cubinet_scale_workspace_bytes(int64_t groups, int64_t m, int64_t k) {
  constexpr int64_t most = int64_t{1} << 60;  // rounded up it is still a number of 64 bits
  if (groups < 0 || m < 0 || k < 0 || m > most || k > most) return -1;
  int64_t bytes = 0;
  const bool fits = !__builtin_mul_overflow(groups, cubinet::aligned_scale_rows(m), &bytes) &&
                    !__builtin_mul_overflow(bytes, cubinet::scale_blocks(k), &bytes) &&
                    !__builtin_mul_overflow(bytes, int64_t{4}, &bytes);
  return fits ? bytes : -1;
}

int32_t cubinet_contiguous_alignment(void) { return cubinet::contiguous_alignment(); }
