// The checks that every operand of a launch passes: addresses and numbers, without a look at the device.
#pragma once

#include <cstdint>

#include "jit/driver.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// What TMA and 16-byte loads and stores ask of an operand's address.
inline constexpr std::uintptr_t kOperandAlignment = 16;

inline bool is_aligned(const void* pointer, std::uintptr_t alignment) {
  return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

// Errors: invalid_argument, "a is null" or "a is not aligned to 16 bytes".
Expected<void> check_pointer(const char* name, const void* pointer, std::uintptr_t alignment);

// An error that says "m is negative: -1".
tl::unexpected<Error> refuse_negative(const char* name, std::int64_t value);

inline CUdeviceptr device_address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

}  // namespace cubinet::jit
