#include "capi/support.hpp"

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <type_traits>

#include <fmt/format.h>

#include "cache/limits.hpp"
#include "jit/problems.hpp"
#include "util/expected.hpp"
#include "util/json_text.hpp"

namespace cubinet::capi {
namespace {

// The texts that this thread's last calls returned.
struct KeptTexts {
  Error error;
  std::string warning;
  std::string compilers;
  std::string failure;
};
thread_local KeptTexts kept_texts;

static_assert(static_cast<int>(ErrorCode::invalid_argument) + 1 == CUBINET_INVALID_ARGUMENT);
static_assert(static_cast<int>(ErrorCode::compile_failed) + 1 == CUBINET_COMPILE_FAILED);
static_assert(static_cast<int>(ErrorCode::not_prepared) + 1 == CUBINET_NOT_PREPARED);
static_assert(static_cast<int>(ErrorCode::out_of_memory) + 1 == CUBINET_OUT_OF_MEMORY);
static_assert(CUBINET_LARGEST_M == largest_m());

cubinet_status status_of(ErrorCode code) { return static_cast<cubinet_status>(code) + 1; }

// The size in the first field of a struct.
std::size_t size_of(const void* given) {
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof(size));
  return size;
}

std::vector<std::string> texts(const char* const* list, std::size_t count) { return {list, list + count}; }

Expected<void> check_list(const char* const* list, std::size_t count, std::string_view name) {
  if (count > 0 && list == nullptr) return fail(ErrorCode::invalid_argument, fmt::format("{} is NULL", name));
  for (std::size_t i = 0; i < count; ++i) {
    if (list[i] == nullptr) return fail(ErrorCode::invalid_argument, fmt::format("{}[{}] is NULL", name, i));
  }
  return {};
}

// Refuses an invalid limit. An invalid limit of the environment is only a warning of the start.
Expected<void> check_limit(const char* text, std::string_view name, Expected<std::int64_t> (*parse)(std::string_view)) {
  const auto limit = parse(text_or(text, ""));
  if (limit) return {};
  return fail(limit.error().code, fmt::format("{}: {}", name, limit.error().message));
}

Expected<void> check_options(const cubinet_options& given) {
  if (given.miss < CUBINET_MISS_COMPILE || given.miss > CUBINET_MISS_ERROR) {
    return fail(ErrorCode::invalid_argument, fmt::format("options.miss: {} is not a valid cubinet_miss", given.miss));
  }
  if (given.reserved != 0) return fail(ErrorCode::unsupported, "options.reserved must be 0");
  return check_list(given.layers, given.layer_count, "options.layers")
      .and_then([&] { return check_list(given.nvrtc_folders, given.nvrtc_folder_count, "options.nvrtc_folders"); })
      .and_then([&] { return check_limit(given.cache_max_size, "options.cache_max_size", cache::parse_size_limit); })
      .and_then(
          [&] { return check_limit(given.cache_max_entries, "options.cache_max_entries", cache::parse_count_limit); });
}

// Replaces the options that `given` sets.
void overrule(ServiceOptions& options, const cubinet_options& given) {
  options.cache_root = text_or(given.cache_root, options.cache_root);
  if (given.layer_count > 0) options.layers = texts(given.layers, given.layer_count);
  if (given.nvrtc_folder_count > 0) options.nvrtc_folders = texts(given.nvrtc_folders, given.nvrtc_folder_count);
  options.cache_max_size = text_or(given.cache_max_size, options.cache_max_size);
  options.cache_max_entries = text_or(given.cache_max_entries, options.cache_max_entries);
  options.bundle_key = text_or(given.bundle_key, options.bundle_key);
  if (given.promote != 0) options.promote = true;
  options.device = given.device;
  options.jobs = given.jobs;
  options.miss = static_cast<MissPolicy>(given.miss);
}

// The row for a number of C in one of the tables of jit/problems.hpp; null if the number is not in the enumeration.
template <class Facts, class Enumeration>
const Facts* facts_of(std::int32_t number, const Facts* (*find)(Enumeration)) {
  const bool fits = number >= 0 && number <= std::numeric_limits<std::underlying_type_t<Enumeration>>::max();
  return fits ? find(static_cast<Enumeration>(number)) : nullptr;
}

Expected<ProblemRange> problem_of(const cubinet_problem& given, const std::string& name) {
  const auto refuse = [&](std::string_view field, std::int64_t value, std::string_view rule) {
    return fail(ErrorCode::invalid_argument, fmt::format("{}.{}: {} {}", name, field, value, rule));
  };
  if (cubinet_dtype_name(given.dtype) == nullptr) return refuse("dtype", given.dtype, "is not a valid cubinet_dtype");
  if (cubinet_layout_name(given.layout) == nullptr)
    return refuse("layout", given.layout, "is not a valid cubinet_layout");
  if (given.groups < std::numeric_limits<std::int32_t>::min() ||
      given.groups > std::numeric_limits<std::int32_t>::max())
    return refuse("groups", given.groups, "does not fit into 32 bits");
  return ProblemRange{{static_cast<DataType>(given.dtype), static_cast<Layout>(given.layout), given.n, given.k,
                       static_cast<std::int32_t>(given.groups)},
                      {given.m_first, given.m_last}};
}

}  // namespace

cubinet_status failed(Error error) noexcept {
  try {
    error.message = util::one_line(error.message);
  } catch (const std::bad_alloc&) {  // the message stays as it is
  }
  kept_texts.error = std::move(error);
  return status_of(kept_texts.error.code);
}

cubinet_status failed(cubinet_status status, std::string message) noexcept {
  failed(Error{ErrorCode::invalid_argument, std::move(message), {}});
  return status;
}

const char* keep(ReportText which, std::string text) {
  std::string& kept = which == ReportText::warning     ? kept_texts.warning
                      : which == ReportText::compilers ? kept_texts.compilers
                                                       : kept_texts.failure;
  kept = std::move(text);
  return kept.c_str();
}

Expected<char*> copy_for_caller(std::string_view text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) return fail(ErrorCode::out_of_memory, "out of memory");
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

Expected<void> check_given(const void* pointer, std::string_view name) {
  if (pointer != nullptr) return {};
  return fail(ErrorCode::invalid_argument, fmt::format("{} is NULL", name));
}

Expected<void> check_size(const void* given, std::size_t first, std::size_t known, std::string_view name) {
  const std::size_t size = size_of(given);
  constexpr std::size_t most = std::size_t{1} << 16;
  if (size < first || size > most) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}.size is {}; initialize the struct with its _INIT macro ({} bytes)", name, size, known));
  }
  const auto* bytes = static_cast<const unsigned char*>(given);
  if (std::all_of(bytes + std::min(known, size), bytes + size, [](unsigned char byte) { return byte == 0; })) return {};
  return fail(ErrorCode::unsupported,
              fmt::format("{} has fields that this library, version {}, does not know", name, cubinet_version()));
}

std::string text_or(const char* text, std::string_view otherwise) {
  return text != nullptr ? std::string(text) : std::string(otherwise);
}

Expected<ServiceOptions> options_of(const cubinet_options* options) {
  if (options == nullptr) return ServiceOptions::from_environment();
  const auto given = taken(options, "options");
  if (!given) return propagate(given);
  if (const auto checked = check_options(*given); !checked) return propagate(checked);
  ServiceOptions own = given->use_environment != 0 ? ServiceOptions::from_environment() : ServiceOptions{};
  overrule(own, *given);
  return own;
}

Expected<std::vector<ProblemRange>> problems_of(const cubinet_problem* problems, std::size_t count,
                                                std::string_view name) {
  std::vector<ProblemRange> own;
  if (count == 0) return own;
  if (const auto there = check_given(problems, name); !there) return propagate(there);
  const std::size_t step = problems->size;
  const auto* bytes = reinterpret_cast<const unsigned char*>(problems);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string element = fmt::format("{}[{}]", name, i);
    auto problem = taken(reinterpret_cast<const cubinet_problem*>(bytes + i * step), element)
                       .and_then([&](const cubinet_problem& given) { return problem_of(given, element); });
    if (!problem) return propagate(problem);
    own.push_back(*problem);
  }
  return own;
}

ScaleTensor scales_of(const cubinet_scales& scales) {
  const auto& [data, type, rank, shape, strides] = scales;
  return {
      data, static_cast<ScaleType>(type), rank, {shape[0], shape[1], shape[2]}, {strides[0], strides[1], strides[2]}};
}

}  // namespace cubinet::capi

using cubinet::capi::kept_texts;

const char* cubinet_version(void) { return CUBINET_VERSION; }

void cubinet_free(char* text) { std::free(text); }

const char* cubinet_last_error(void) { return kept_texts.error.message.c_str(); }
const char* cubinet_last_error_detail(void) { return kept_texts.error.detail.c_str(); }

const char* cubinet_dtype_name(int32_t dtype) {
  const auto* facts = cubinet::capi::facts_of(dtype, cubinet::jit::find_data_type);
  return facts != nullptr ? facts->name : nullptr;
}

const char* cubinet_layout_name(int32_t layout) {
  const auto* facts = cubinet::capi::facts_of(layout, cubinet::jit::find_layout);
  return facts != nullptr ? facts->name : nullptr;
}

const char* cubinet_status_name(cubinet_status status) {
  switch (status) {
    case CUBINET_OK:
      return "ok";
    case CUBINET_INCOMPLETE:
      return "incomplete";
    case CUBINET_INTERNAL:
      return "internal";
    default:
      return cubinet::code_name(static_cast<cubinet::ErrorCode>(status - 1)).data();
  }
}
