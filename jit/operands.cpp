#include "jit/operands.hpp"

#include <string>

namespace cubinet::jit {

Expected<void> check_pointer(const char* name, const void* pointer, std::uintptr_t alignment) {
  if (pointer == nullptr) return fail(ErrorCode::invalid_argument, std::string(name) + " is null");
  if (is_aligned(pointer, alignment)) [[likely]]
    return {};
  return fail(ErrorCode::invalid_argument,
              std::string(name) + " is not aligned to " + std::to_string(alignment) + " bytes");
}

tl::unexpected<Error> refuse_negative(const char* name, std::int64_t value) {
  return fail(ErrorCode::invalid_argument, std::string(name) + " is negative: " + std::to_string(value));
}

}  // namespace cubinet::jit
