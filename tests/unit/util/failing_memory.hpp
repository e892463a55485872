// Makes operator new fail in tests.
#pragma once

#include <new>

namespace cubinet::test {

// Whether `new` can be made to fail: clang's thread sanitizer has an `operator new` of its own in each program.
#ifdef CUBINET_THREAD_SANITIZER
inline constexpr bool memory_can_fail = false;
#else
inline constexpr bool memory_can_fail = true;
#endif
inline constexpr const char* no_failing_memory = "the thread sanitizer has an operator new of its own";

// While the object lives, `new` succeeds `left` times on this thread and then fails. Link failing_memory.cpp.
class FailingMemory {
 public:
  explicit FailingMemory(int left);
  ~FailingMemory();
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;
};

// Calls `act` with memory for 0, 1, 2, ... allocations until it does not throw std::bad_alloc. Returns the number of
// calls that did.
template <class Act>
int failures_for_want_of_memory(const Act& act) {
  for (int failures = 0;; ++failures) {
    const FailingMemory memory(failures);
    try {
      act();
      return failures;
    } catch (const std::bad_alloc&) {
    }
  }
}

}  // namespace cubinet::test
