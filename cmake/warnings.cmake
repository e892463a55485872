# cubinet_warnings(<target>): the warnings for all host code; with CUBINET_WERROR they are errors.
# cubinet_offline(<target>): less optimization, which halves the compile time, for code that waits for NVRTC and for files:
# plans, the campaign and the command.
# cubinet_portable(<target>): links an executable so that the one file runs on another distribution.
# CUBINET_SANITIZE applies to everything that is compiled after this file is included: a
# process in which only some objects are instrumented reports errors that do not exist. Tests see which sanitizer is on by
# CUBINET_THREAD_SANITIZER or CUBINET_ADDRESS_SANITIZER.
if(CUBINET_SANITIZE)
  if(CUBINET_SANITIZE STREQUAL "thread")
    set(CUBINET_SANITIZERS -fsanitize=thread -O1)
    add_compile_definitions(CUBINET_THREAD_SANITIZER)
  else()
    # -O0: with optimization, instrumented code takes two to four times as long to compile and finds no more errors.
    set(CUBINET_SANITIZERS -fsanitize=address,undefined -fno-sanitize-recover=undefined -O0)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      # What GCC does not check either: calls through the driver's functions, whose types are macros of cuda.h, and
      # nlohmann/json's conversions of numbers, whose result it then discards.
      list(APPEND CUBINET_SANITIZERS -fno-sanitize=function,float-cast-overflow)
    endif()
    add_compile_definitions(CUBINET_ADDRESS_SANITIZER)
  endif()
  add_compile_options(${CUBINET_SANITIZERS} -fno-omit-frame-pointer -g1)
  add_link_options(${CUBINET_SANITIZERS})
endif()
if(CUBINET_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "CUBINET_FUZZ needs clang, which brings libFuzzer: -DCMAKE_CXX_COMPILER=clang++")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -g1 -O1)
  add_link_options(-fsanitize=fuzzer-no-link,address,undefined)
endif()

function(cubinet_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
  if(CUBINET_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC gives false warnings of this kind for instrumented code. The build without sanitizers has the warning.
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
  endif()
  if(CUBINET_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

function(cubinet_offline target)
  if(NOT CUBINET_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()

function(cubinet_portable target)
  # The sanitizers' runtime loads the shared libstdc++, and two copies do not catch each other's exceptions.
  if(NOT CUBINET_SANITIZE AND NOT CUBINET_SHARED_DEPS)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endfunction()
