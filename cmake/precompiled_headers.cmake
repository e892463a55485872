# cubinet_precompiled(<target> [<set>])
# Compiles the sources of <target> with a set of headers that is compiled once for all targets with that set. All these
# sources have the same optimization and the same sanitizers, because precompiled headers require it. Sets:
#   library   the standard library, {fmt} and tl::expected; optimized as Release is: code that a launch runs
#   offline   the same and JSON; -O1 in Release: code of plans, of the campaign and of the command. It waits for NVRTC
#             and for files, and its C++ templates take twice as long to compile with -O2
#   test      the standard library and Catch2, without optimization; see cubinet_test()
# Sources must still include every header that they use: CMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds without the sets
# (`make sanitize-thread` does).
set(CUBINET_STANDARD_HEADERS
  <algorithm> <array> <atomic> <chrono> <condition_variable> <cstddef> <cstdint> <filesystem> <fstream> <functional>
  <iterator> <map> <memory> <mutex> <optional> <set> <span> <sstream> <string> <string_view> <system_error> <thread>
  <utility> <variant> <vector>)

# Compile options of the sources of a set, in addition to those of all host code.
function(cubinet_set_options target set)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # A compiler cache can restore the set with another modification time.
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  if(set STREQUAL "offline" AND NOT CUBINET_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  elseif(set STREQUAL "test")
    target_compile_options(${target} PRIVATE -O0)
    # Undefined behavior is checked in the code under test only. In tests the checks take a third of the compile time.
    if(CUBINET_SANITIZE AND NOT CUBINET_SANITIZE STREQUAL "thread")
      target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
    endif()
  endif()
endfunction()

# Creates the target that compiles a set, if no earlier target has.
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
    # The set is for executables.
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
    # The same option as for the libraries that share the set; an executable would be compiled with -fPIE.
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE ${CMAKE_CXX_COMPILE_OPTIONS_PIC})
  endif()
  target_precompile_headers(${target} REUSE_FROM cubinet_headers_${set})
endfunction()
