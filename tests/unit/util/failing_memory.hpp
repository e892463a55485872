// Memory that runs out when a test says so.
#pragma once

namespace cubinet::test {

// While the object lives, `new` on this thread succeeds `left` times, and fails from then on. Link failing_memory.cpp.
class FailingMemory {
 public:
  explicit FailingMemory(int left);
  ~FailingMemory();
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;
};

}  // namespace cubinet::test
