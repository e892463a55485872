#include "unit/util/failing_memory.hpp"

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>

namespace {

constexpr int no_limit = std::numeric_limits<int>::max();
thread_local int allocations_left = no_limit;

}  // namespace

namespace cubinet::test {

FailingMemory::FailingMemory(int left) { allocations_left = left; }
FailingMemory::~FailingMemory() { allocations_left = no_limit; }

}  // namespace cubinet::test

#ifndef CUBINET_THREAD_SANITIZER

// Replaces every form whose memory the replaced `operator delete` may receive: the address sanitizer checks that both
// match.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  if (allocations_left != no_limit && allocations_left-- <= 0) {
    allocations_left = 0;
    return nullptr;
  }
  return std::malloc(size == 0 ? 1 : size);
}

void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

#endif
