#include "util/expected.hpp"

#include <stdexcept>

#include "catch.hpp"

using namespace cubinet;

TEST_CASE("What was thrown is an error that says what is wrong: no memory, no thread, or its own words") {
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
