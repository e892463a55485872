// Catch2, version 2 or 3, restricted to what both versions have; and CUBINET_SKIP.
#pragma once

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <iostream>

// Ends the test case as skipped; use it only in the body of a test case. `reason` is anything that can be streamed.
// Catch2 version 2 cannot skip tests, so ctest recognizes the printed line.
#define CUBINET_SKIP(reason)                                   \
  do {                                                         \
    std::cout << "CUBINET_SKIPPED: " << (reason) << std::endl; \
    SUCCEED("skipped");                                        \
    return;                                                    \
  } while (false)

namespace cubinet::test {

// Whether a sanitizer is on. Instrumented code takes about five times as long, so tests that repeat a check hundreds of
// times then do a fifth of it.
#if defined(CUBINET_ADDRESS_SANITIZER) || defined(CUBINET_THREAD_SANITIZER)
inline constexpr bool instrumented = true;
#else
inline constexpr bool instrumented = false;
#endif

}  // namespace cubinet::test
