#include "util/stack_thread.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <system_error>
#include <utility>

namespace cubinet::util {
namespace {

using Work = std::function<void()>;

void* run(void* argument) {
  const std::unique_ptr<Work> work(static_cast<Work*>(argument));
  (*work)();
  return nullptr;
}

std::size_t stack_of(const pthread_attr_t& attributes) {
  std::size_t bytes = 0;
  return pthread_attr_getstacksize(&attributes, &bytes) == 0 ? bytes : 0;
}

std::size_t own_stack() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  const std::size_t bytes = stack_of(attributes);
  pthread_attr_destroy(&attributes);
  return bytes;
}

}  // namespace

StackThread::StackThread(std::size_t bytes, Work work) {
  auto argument = std::make_unique<Work>(std::move(work));
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error == 0) {
    error = pthread_attr_setstacksize(&attributes, std::max(bytes, stack_of(attributes)));
    if (error == 0) error = pthread_create(&thread_, &attributes, run, argument.get());
    pthread_attr_destroy(&attributes);
  }
  if (error != 0) throw std::system_error(error, std::generic_category(), "a thread");
  static_cast<void>(argument.release());  // the thread's now
  started_ = true;
}

StackThread::StackThread(StackThread&& other) noexcept
    : thread_(other.thread_), started_(std::exchange(other.started_, false)) {}

StackThread& StackThread::operator=(StackThread&& other) noexcept {
  StackThread before(std::move(*this));  // waited for
  thread_ = other.thread_;
  started_ = std::exchange(other.started_, false);
  return *this;
}

StackThread::~StackThread() {
  if (started_) pthread_join(thread_, nullptr);
}

void run_with_stack(std::size_t bytes, const Work& work) {
  if (own_stack() >= bytes) return work();
  StackThread thread;
  try {
    thread = StackThread(bytes, work);
    return;
  } catch (const std::exception&) {
    // No such thread, or no memory for it.
  }
  work();
}

}  // namespace cubinet::util
