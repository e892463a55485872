// Memory that runs out when a test says so.
#pragma once

#include <new>

namespace cubinet::test {

// While the object lives, `new` on this thread succeeds `left` times, and fails from then on. Link failing_memory.cpp.
class FailingMemory {
 public:
  explicit FailingMemory(int left);
  ~FailingMemory();
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;
};

// Calls `act` with memory for no allocation, for one, and so on, until it ends without std::bad_alloc. Returns how
// often it did not.
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
