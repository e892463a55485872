// What the functions of the C interface share: statuses, the last error, structs that carry their size, options.
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

// Keeps the error for cubinet_last_error() and answers with its status.
cubinet_status failed(Error error) noexcept;
cubinet_status failed(cubinet_status status, std::string message) noexcept;

// A copy of the text that lives until this thread's next kept text of the same place, for reports.
enum class Place : std::uint8_t { warning, compilers, failure };
const char* keep(Place place, std::string text);

// A copy for the caller, whom cubinet_free() frees of it. out_of_memory.
Expected<char*> copy_for_caller(std::string_view text);

// Runs what may throw; its errors and exceptions become a status.
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

// From the C++ interface's results.
template <class T>
Expected<T> expected(Result<T>&& result) {
  if (result) return std::move(result).value();
  return fail(result.error());
}

// invalid_argument when a pointer that has to be given is null; `name` is the argument's.
Expected<void> check_given(const void* pointer, std::string_view name);

// The size that a struct had in the first version; later fields are taken as zero where the caller does not have them.
template <class Struct>
inline constexpr std::size_t first_size = sizeof(Struct);
template <>
inline constexpr std::size_t first_size<cubinet_request> = offsetof(cubinet_request, redundant_experts);
template <>
inline constexpr std::size_t first_size<cubinet_start_report> = offsetof(cubinet_start_report, compilers);

// Whether the size that a struct `name` of the caller gives in its first field is one that this library can read: at
// least `first`, and nothing but zeros beyond the `known` bytes.
Expected<void> check_size(const void* given, std::size_t first, std::size_t known, std::string_view name);
// The same for a struct that has not grown.
inline Expected<void> check_size(const void* given, std::size_t known, std::string_view name) {
  return check_size(given, known, known, name);
}

// A struct of the caller as this library knows it.
template <class Struct>
Expected<Struct> taken(const Struct* given, std::string_view name) {
  const auto sized = [&] { return check_size(given, first_size<Struct>, sizeof(Struct), name); };
  return check_given(given, name).and_then(sized).map([&] {
    Struct own{};
    std::memcpy(&own, given, std::min(given->size, sizeof(Struct)));
    return own;
  });
}

// Writes a struct for the caller, as far as he knows its fields; `report` may be null.
template <class Struct>
Expected<void> give(Struct* report, Struct own, std::string_view name) {
  if (report == nullptr) return {};
  if (auto sized = check_size(report, first_size<Struct>, sizeof(Struct), name); !sized) return sized;
  own.size = report->size;
  std::memcpy(report, &own, std::min(own.size, sizeof(Struct)));
  return {};
}

// A text of the caller as UTF-8, which this does not check; null is `otherwise`.
std::string text_or(const char* text, std::string_view otherwise);

// Null is the environment's.
Expected<ServiceOptions> options_of(const cubinet_options* options);

// `count` problems, each of the first one's size. `name` is the argument's.
Expected<std::vector<ProblemRange>> problems_of(const cubinet_problem* problems, std::size_t count,
                                                std::string_view name);

ScaleTensor scales_of(const cubinet_scales& scales);

}  // namespace cubinet::capi
