# cubinet_precompiled(<target> [<set>])
# compiles the sources of <target> with a set of headers that is compiled once for all targets that name the set. The
# sources of such a target are compiled with the same optimisation and the same sanitizers, which is what a compiler asks
# for. Sets:
#   library   the standard library, {fmt} and tl::expected; as Release is optimised: code that a launch goes through
#   offline   the same and JSON; -O1 in Release: code of plans, of the campaign and of the command, which waits for
#             NVRTC and for files, and whose templates take twice as long to compile with -O2
#   test      the standard library and Catch2, without optimisation; see cubinet_test()
# A source includes what it uses all the same: CMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds without the sets (`make
# sanitize` does).
set(CUBINET_STANDARD_HEADERS
  <algorithm> <array> <atomic> <chrono> <condition_variable> <cstddef> <cstdint> <filesystem> <fstream> <functional>
  <iterator> <map> <memory> <mutex> <optional> <set> <span> <sstream> <string> <string_view> <system_error> <thread>
  <utility> <variant> <vector>)

# How the sources of a set are compiled, beside what all host code is held to.
function(cubinet_set_options target set)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # A compiler cache may bring the set back with another time of change.
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  if(set STREQUAL "offline" AND NOT CUBINET_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  elseif(set STREQUAL "test")
    target_compile_options(${target} PRIVATE -O0)
    # Undefined behaviour is looked for in what is tested; in the tests it would take a third of their compilation.
    if(CUBINET_SANITIZE AND NOT CUBINET_SANITIZE STREQUAL "thread")
      target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
    endif()
  endif()
endfunction()

# The target that compiles a set is made by the first target that asks for it.
function(cubinet_set_target set)
  set(owner cubinet_headers_${set})
  set(headers ${CUBINET_STANDARD_HEADERS} <tl/expected.hpp>)
  set(libraries cubinet::expected)
  if(set STREQUAL "test")
    list(APPEND headers ${PROJECT_SOURCE_DIR}/tests/catch.hpp)
    list(APPEND libraries cubinet::catch2)
  else()
    list(APPEND headers <fmt/format.h>)
    list(APPEND libraries cubinet::fmt)
  endif()
  if(set STREQUAL "offline")
    list(APPEND headers <nlohmann/json.hpp>)
    list(APPEND libraries cubinet::json)
  endif()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/${owner}.cpp CONTENT "// Compiles ${owner}.\n")
  add_library(${owner} OBJECT ${CMAKE_BINARY_DIR}/generated/${owner}.cpp)
  target_link_libraries(${owner} PRIVATE ${libraries})
  target_precompile_headers(${owner} PRIVATE ${headers})
  cubinet_set_options(${owner} ${set})
  cubinet_warnings(${owner})
  if(set STREQUAL "test")
    # Its users are executables.
    set_target_properties(${owner} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${owner} PRIVATE ${CMAKE_CXX_COMPILE_OPTIONS_PIE})
  endif()
endfunction()

function(cubinet_precompiled target)
  set(set library)
  if(ARGC GREATER 1)
    set(set ${ARGV1})
  endif()
  if(NOT TARGET cubinet_headers_${set})
    cubinet_set_target(${set})
  endif()
  cubinet_set_options(${target} ${set})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE" AND NOT set STREQUAL "test")
    # As the libraries that share the set: an executable would be compiled with -fPIE.
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE ${CMAKE_CXX_COMPILE_OPTIONS_PIC})
  endif()
  target_precompile_headers(${target} REUSE_FROM cubinet_headers_${set})
endfunction()
