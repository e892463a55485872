// Shared by the functions of the C interface: statuses and the last error, structs that begin with their size, options.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cubinet/cubinet.h"
#include "cubinet/cubinet.hpp"
#include "util/expected.hpp"

namespace cubinet::capi {

// Keeps the error for this thread's cubinet_last_error(), and returns its status.
cubinet_status failed(Error error) noexcept;
cubinet_status failed(cubinet_status status, std::string message) noexcept;

// Keeps a text that a report points to: it is valid until this thread's next text of the same kind.
enum class ReportText : std::uint8_t { warning, compilers, failure };
const char* keep(ReportText which, std::string text);

// A copy for the caller, who frees it with cubinet_free(). Errors: out_of_memory.
Expected<char*> copy_for_caller(std::string_view text);

// Runs `work`, which returns an Expected<void> and may throw. An error becomes its status, an exception
// CUBINET_INTERNAL (CUBINET_OUT_OF_MEMORY if memory runs out). Keeps the message for cubinet_last_error().
template <class Work>
cubinet_status guarded(Work&& work) noexcept {
  bool returned = false;
  Expected<void> done = without_exceptions(ErrorCode::io, [&]() -> Expected<void> {
    Expected<void> answer = work();
    returned = true;
    return answer;
  });
  if (done) return CUBINET_OK;
  const bool is_fault = !returned && done.error().code != ErrorCode::out_of_memory;
  return is_fault ? failed(CUBINET_INTERNAL, std::move(done.error().message)) : failed(std::move(done.error()));
}

// A result of the C++ interface as an Expected.
template <class T>
Expected<T> expected(Result<T>&& result) {
  if (result) return std::move(result).value();
  return fail(result.error());
}

// invalid_argument if the pointer is null. `name` is that of the argument, for the message; likewise below.
Expected<void> check_given(const void* pointer, std::string_view name);

// The size of a struct in the first version of the library. Later fields count as zero if the caller's struct lacks
// them.
template <class Struct>
inline constexpr std::size_t first_size = sizeof(Struct);
template <>
inline constexpr std::size_t first_size<cubinet_request> = offsetof(cubinet_request, redundant_experts);
template <>
inline constexpr std::size_t first_size<cubinet_start_report> = offsetof(cubinet_start_report, compilers);
template <>
inline constexpr std::size_t first_size<cubinet_contiguous_args> = offsetof(cubinet_contiguous_args, num_sms);
template <>
inline constexpr std::size_t first_size<cubinet_masked_args> = offsetof(cubinet_masked_args, num_sms);

// Checks the size in the first field of a caller's struct: at least `first`, and beyond the `known` bytes only zeros.
// Errors: invalid_argument; unsupported for fields that this library does not know.
Expected<void> check_size(const void* given, std::size_t first, std::size_t known, std::string_view name);
// The same for a struct that has had no fields added.
inline Expected<void> check_size(const void* given, std::size_t known, std::string_view name) {
  return check_size(given, known, known, name);
}

// A copy of a caller's struct, with zero for the fields that the caller lacks. Errors: those of check_given() and
// check_size().
template <class Struct>
Expected<Struct> taken(const Struct* given, std::string_view name) {
  const auto sized = [&] { return check_size(given, first_size<Struct>, sizeof(Struct), name); };
  return check_given(given, name).and_then(sized).map([&] {
    Struct own{};
    std::memcpy(&own, given, std::min(given->size, sizeof(Struct)));
    return own;
  });
}

// Copies a struct to the caller's, without the fields that this lacks. `report` may be null. Errors: those of
// check_size().
template <class Struct>
Expected<void> give(Struct* report, Struct own, std::string_view name) {
  if (report == nullptr) return {};
  if (auto sized = check_size(report, first_size<Struct>, sizeof(Struct), name); !sized) return sized;
  own.size = report->size;
  std::memcpy(report, &own, std::min(own.size, sizeof(Struct)));
  return {};
}

// A caller's text; `otherwise` for null. Does not check that it is UTF-8.
std::string text_or(const char* text, std::string_view otherwise);

// The options of the C++ interface; null: the environment's. Errors: invalid_argument and unsupported, which name the
// field.
Expected<ServiceOptions> options_of(const cubinet_options* options);

// `count` problems, whose distance is the size of the first. Errors name the element and the field.
Expected<std::vector<ProblemRange>> problems_of(const cubinet_problem* problems, std::size_t count,
                                                std::string_view name);

// Checks nothing: a launch does.
ScaleTensor scales_of(const cubinet_scales& scales);

}  // namespace cubinet::capi
