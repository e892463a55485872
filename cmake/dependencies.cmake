# One interface target per outside library, so that the layers name what they need and nothing else:
#   cubinet::fmt  cubinet::sqlite  cubinet::crypto  cubinet::zstd  cubinet::json  cubinet::expected  cubinet::cli11
#   cubinet::system  cubinet::catch2 (testing.cmake)  cubinet::cuda_headers (cuda.cmake)
# Archives are linked unless CUBINET_SHARED_DEPS is ON.
include(cuda)

find_package(Threads REQUIRED)

add_library(cubinet_system INTERFACE)
target_link_libraries(cubinet_system INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
add_library(cubinet::system ALIAS cubinet_system)

# A header-only library that brings its own CMake package.
function(cubinet_header_dependency name package target)
  find_package(${package} REQUIRED)
  add_library(cubinet_dependency_${name} INTERFACE)
  target_link_libraries(cubinet_dependency_${name} INTERFACE ${target})
  add_library(cubinet::${name} ALIAS cubinet_dependency_${name})
endfunction()

# A compiled library found by header and archive (or shared object). `header` is a path such as
# "openssl/evp.h", `library` the name without prefix and suffix.
function(cubinet_compiled_dependency name header library)
  find_path(CUBINET_${name}_INCLUDE ${header} REQUIRED)
  if(CUBINET_SHARED_DEPS)
    find_library(CUBINET_${name}_SHARED NAMES ${library} REQUIRED)
    set(file ${CUBINET_${name}_SHARED})
  else()
    find_library(CUBINET_${name}_ARCHIVE NAMES lib${library}.a)
    if(NOT CUBINET_${name}_ARCHIVE)
      message(FATAL_ERROR "lib${library}.a not found: install it, or configure with -DCUBINET_SHARED_DEPS=ON")
    endif()
    set(file ${CUBINET_${name}_ARCHIVE})
  endif()
  add_library(cubinet_dependency_${name} INTERFACE)
  target_include_directories(cubinet_dependency_${name} SYSTEM INTERFACE ${CUBINET_${name}_INCLUDE})
  target_link_libraries(cubinet_dependency_${name} INTERFACE ${file} cubinet::system)
  add_library(cubinet::${name} ALIAS cubinet_dependency_${name})
endfunction()

# {fmt} is compiled once and linked, because with the header-only variant its formatting code takes two thirds of the
# compile time of each source that uses it. Debian's package has only headers and a shared library, so version 9 is
# compiled here (fmt_library.cpp). Of other versions the package's archive is used, or if it has none, the headers.
function(cubinet_fmt_dependency)
  find_package(fmt REQUIRED)
  add_library(cubinet_dependency_fmt INTERFACE)
  add_library(cubinet::fmt ALIAS cubinet_dependency_fmt)
  get_target_property(kind fmt::fmt TYPE)
  if(CUBINET_SHARED_DEPS OR kind STREQUAL "STATIC_LIBRARY")
    target_link_libraries(cubinet_dependency_fmt INTERFACE fmt::fmt)
  elseif(fmt_VERSION MATCHES "^9[.]")
    get_target_property(folders fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
    add_library(cubinet_fmt STATIC ${PROJECT_SOURCE_DIR}/cmake/fmt_library.cpp)
    target_include_directories(cubinet_fmt SYSTEM PUBLIC ${folders})
    target_link_libraries(cubinet_dependency_fmt INTERFACE cubinet_fmt)
  else()
    target_link_libraries(cubinet_dependency_fmt INTERFACE fmt::fmt-header-only)
  endif()
endfunction()

cubinet_fmt_dependency()
cubinet_header_dependency(json nlohmann_json nlohmann_json::nlohmann_json)
cubinet_header_dependency(expected tl-expected tl::expected)
cubinet_header_dependency(cli11 CLI11 CLI11::CLI11)
cubinet_compiled_dependency(sqlite sqlite3.h sqlite3)
cubinet_compiled_dependency(crypto openssl/evp.h crypto)
cubinet_compiled_dependency(zstd zstd.h zstd)

# SQLite's archive needs libm, but does not declare it.
target_link_libraries(cubinet_dependency_sqlite INTERFACE m)

if(CUBINET_TESTS)
  include(testing)
endif()
