#include "util/stack_thread.hpp"

#include <pthread.h>

namespace cubinet::util {
namespace {

void* run(void* work) {
  (*static_cast<const std::function<void()>*>(work))();
  return nullptr;
}

}  // namespace

void run_with_stack(std::size_t bytes, const std::function<void()>& work) {
  pthread_attr_t attributes;
  pthread_t thread;
  bool started = false;
  if (pthread_attr_init(&attributes) == 0) {
    void* argument = const_cast<std::function<void()>*>(&work);
    started = pthread_attr_setstacksize(&attributes, bytes) == 0 &&
              pthread_create(&thread, &attributes, run, argument) == 0;
    pthread_attr_destroy(&attributes);
  }
  if (!started) return work();
  pthread_join(thread, nullptr);
}

}  // namespace cubinet::util
