// Catch2, version 2 or 3, with the parts that both spell alike; and CUBINET_SKIP.
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

// Ends the test case (call it in the test case's own body) as skipped, with the reason: `reason` is
// anything that streams. Version 2 has no notion of skipping, so ctest learns of it from the printed line.
#define CUBINET_SKIP(reason)                                   \
  do {                                                         \
    std::cout << "CUBINET_SKIPPED: " << (reason) << std::endl; \
    SUCCEED("skipped");                                        \
    return;                                                    \
  } while (false)
