#include "util/expected.hpp"

#include <stdexcept>

#include "catch.hpp"
#include "cubinet/result.hpp"
#include "unit/util/failing_memory.hpp"

using namespace cubinet;

TEST_CASE("An exception becomes an error: out of memory, no thread, or its own message") {
  const Error memory = error_of(std::bad_alloc(), ErrorCode::io);
  CHECK(memory.code == ErrorCode::out_of_memory);
  CHECK(memory.message == "out of memory");
  const auto again = std::make_error_code(std::errc::resource_unavailable_try_again);
  const Error thread = error_of(std::system_error(again), ErrorCode::io);
  CHECK(thread.code == ErrorCode::io);
  CHECK(thread.message.find("ulimit -u") != std::string::npos);
  const Error other = error_of(std::runtime_error("out of paper"), ErrorCode::compile_failed);
  CHECK(other.code == ErrorCode::compile_failed);
  CHECK(other.message == "out of paper");
}

TEST_CASE("without_exceptions turns any exception into an error") {
  const auto answer_of = [](const auto& work) {
    return without_exceptions(
        ErrorCode::compile_failed,
        [&]() -> Expected<int> {
          work();
          return 1;
        },
        "gemm");
  };
  CHECK(*answer_of([] {}) == 1);
  const auto memory = answer_of([] { throw std::bad_alloc(); });
  CHECK(memory.error().code == ErrorCode::out_of_memory);
  CHECK(memory.error().message == "gemm: out of memory");
  const auto known = answer_of([] { throw std::runtime_error("out of paper"); });
  CHECK(known.error().code == ErrorCode::compile_failed);
  CHECK(known.error().message == "gemm: out of paper");
  CHECK(answer_of([] { throw 1; }).error().message == "gemm: unknown exception");
  const Status status = without_exceptions(ErrorCode::io, []() -> Status { throw std::runtime_error("no"); });
  REQUIRE_FALSE(status);
  CHECK(status.error().code == ErrorCode::io);
}

TEST_CASE("If there is no memory for an error message, the error is out_of_memory") {
  if (!test::memory_can_fail) CUBINET_SKIP(test::no_failing_memory);
  const std::runtime_error wordy("words that are too many to be kept without memory of their own");
  const auto fails = [&](int left) {
    const test::FailingMemory memory(left);
    return without_exceptions(
        ErrorCode::io, [&]() -> Expected<void> { throw wordy; }, "a subject");
  };
  CHECK(fails(0).error().code == ErrorCode::out_of_memory);
  CHECK(fails(9).error().code == ErrorCode::io);
}
