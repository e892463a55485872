#include "util/stack_thread.hpp"

#include <sys/resource.h>

#include "catch.hpp"

namespace {

// Touches so many bytes of the stack.
[[gnu::noinline]] int deep(std::size_t bytes) {
  volatile char page[4096];
  page[0] = static_cast<char>(bytes);
  return bytes < sizeof page ? page[0] : deep(bytes - sizeof page) + page[0];
}

}  // namespace

TEST_CASE("Work has the stack that it asks for, however small the process's limit is") {
  rlimit before{};
  getrlimit(RLIMIT_STACK, &before);
  const rlimit small{std::size_t{1} << 20, before.rlim_max};
  setrlimit(RLIMIT_STACK, &small);
  bool done = false;
  cubinet::util::run_with_stack(std::size_t{8} << 20, [&] { done = deep(std::size_t{6} << 20) < 1 << 30; });
  setrlimit(RLIMIT_STACK, &before);
  CHECK(done);
}

TEST_CASE("Work for which there can be no such stack is done all the same") {
  bool done = false;
  cubinet::util::run_with_stack(std::size_t{1} << 60, [&] { done = true; });
  CHECK(done);
}
