# cubinet_test(<name> SOURCES <file>... LIBS <target>... [LABELS <label>] [TIMEOUT <seconds>] [FIRST])
# Creates the executable <name> with Catch2's main and registers each of its test cases with ctest, so
# that `ctest -N` lists them. A test case that cannot run on this machine calls CUBINET_SKIP (tests/catch.hpp)
# and is reported as skipped. FIRST is for tests that take long: they are started before the others, so that they do not
# run alone at the end. Sources see CUBINET_SOURCE_DIR, the root of the source tree.
find_package(Catch2 REQUIRED)
include(Catch)

add_library(cubinet_dependency_catch2 INTERFACE)
add_library(cubinet::catch2 ALIAS cubinet_dependency_catch2)
target_link_libraries(cubinet_dependency_catch2 INTERFACE Catch2::Catch2)

# Version 3 has its own main. For version 2 it is compiled once, here, because distributions build their archive as
# C++11, without the parts for newer types. A name that selects no test case (for example, with a semicolon) must fail:
# version 3 does that by default, version 2 needs an option.
if(Catch2_VERSION VERSION_GREATER_EQUAL 3)
  set(CUBINET_CATCH_ARGUMENTS "")
  add_library(cubinet_catch_main INTERFACE)
  target_link_libraries(cubinet_catch_main INTERFACE Catch2::Catch2WithMain)
else()
  set(CUBINET_CATCH_ARGUMENTS --warn NoTests)
  set(CUBINET_CATCH_MAIN ${CMAKE_BINARY_DIR}/generated/catch_main.cpp)
  file(CONFIGURE OUTPUT ${CUBINET_CATCH_MAIN} CONTENT "#define CATCH_CONFIG_MAIN\n#include <catch2/catch.hpp>\n")
  add_library(cubinet_catch_main STATIC ${CUBINET_CATCH_MAIN})
  target_link_libraries(cubinet_catch_main PUBLIC cubinet::catch2)
  # The framework itself is not under test, so its main is compiled for a fast build.
  target_compile_options(cubinet_catch_main PRIVATE -O0 -g0 $<$<BOOL:${CUBINET_SANITIZE}>:-fno-sanitize=all>)
endif()

# How ctest recognizes a skipped test: only by the printed line. The exit code of version 2, and of the first releases
# of version 3, is the number of failed assertions, so that no exit code is free to mean "skipped".
set(CUBINET_TEST_PROPERTIES SKIP_REGULAR_EXPRESSION "CUBINET_SKIPPED:")

function(cubinet_test name)
  cmake_parse_arguments(ARG "FIRST" "TIMEOUT;LABELS" "SOURCES;LIBS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "cubinet_test(${name}): unknown arguments ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(CUBINET_SANITIZE)
    math(EXPR ARG_TIMEOUT "4 * ${ARG_TIMEOUT}")
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} cubinet_catch_main)
  target_compile_definitions(${name} PRIVATE CUBINET_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  cubinet_warnings(${name})
  cubinet_portable(${name})
  # Tests are compiled without optimization, because they are compiled more often than run. The code under test has it.
  target_compile_options(${name} PRIVATE -O0)
  # Undefined behavior is checked in the code under test only. In tests the checks take a third of the compile time.
  if(CUBINET_SANITIZE AND NOT CUBINET_SANITIZE STREQUAL "thread")
    target_compile_options(${name} PRIVATE -fno-sanitize=undefined)
  endif()
  set(properties TIMEOUT ${ARG_TIMEOUT} ${CUBINET_TEST_PROPERTIES})
  if(ARG_LABELS)
    list(APPEND properties LABELS ${ARG_LABELS})
  endif()
  if(ARG_FIRST)
    list(APPEND properties COST 100)
  endif()
  catch_discover_tests(${name} TEST_PREFIX "${name}:" EXTRA_ARGS ${CUBINET_CATCH_ARGUMENTS} PROPERTIES ${properties})
endfunction()
