#include "cache/index_gate.hpp"

#include <pthread.h>

namespace cubinet::cache {
namespace {

// Never destroyed: a thread may still be inside while the process exits.
std::mutex& gate() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

void close_gate() { gate().lock(); }
void open_gate() { gate().unlock(); }

}  // namespace

std::unique_lock<std::mutex> enter_index() {
  static std::once_flag once;
  // Without the handlers (no memory) all works but a fork in the middle of another thread's index call.
  std::call_once(once, [] { static_cast<void>(::pthread_atfork(close_gate, open_gate, open_gate)); });
  return std::unique_lock(gate());
}

}  // namespace cubinet::cache
