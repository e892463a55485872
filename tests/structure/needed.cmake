# cmake -DREADELF=<readelf> -DBINARY=<executable> -P needed.cmake
# Fails if the binary needs a shared library that a minimal Linux installation does not have.
cmake_minimum_required(VERSION 3.22)

execute_process(COMMAND ${READELF} -d ${BINARY} OUTPUT_VARIABLE table COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "NEEDED[^\n]*\\[[^\n]*\\]" lines "${table}")
foreach(line IN LISTS lines)
  string(REGEX REPLACE ".*\\[(.*)\\]" "\\1" library "${line}")
  if(NOT library MATCHES "^(libc|libm|libdl|libpthread|librt|ld-linux.*)\\.so")
    message(FATAL_ERROR "needs ${library}")
  endif()
endforeach()
if(NOT lines)
  message(FATAL_ERROR "no dynamic section read from ${BINARY}")
endif()
