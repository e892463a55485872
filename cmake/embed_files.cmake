# cmake -DROOT=<folder> -DLIST=<file with one name per line> -DOUTPUT=<source> -P embed_files.cmake
# Writes the source that cubinet_embed_templates() describes. Texts become arrays of characters, not
# string literals, because compilers limit the length of a literal.
cmake_minimum_required(VERSION 3.22)

file(STRINGS ${LIST} names)
set(arrays "")
set(entries "")
set(count 0)
foreach(name IN LISTS names)
  file(READ ${ROOT}/${name} bytes HEX)
  file(SIZE ${ROOT}/${name} size)
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND arrays "const char text_${count}[] = {\n${bytes}'\\0'};\n")
  string(APPEND entries "    {\"${name}\", text_${count}, ${size}},\n")
  math(EXPR count "${count} + 1")
endforeach()
if(count EQUAL 0)
  set(entries "    {nullptr, nullptr, 0},\n")
endif()

file(WRITE ${OUTPUT} "// Generated from templates/ by cmake/embed_files.cmake.
#include \"jit/templates.hpp\"

namespace cubinet::jit {

namespace {
${arrays}}  // namespace

const EmbeddedFile embedded_files[] = {
${entries}};
const unsigned long embedded_file_count = ${count};

}  // namespace cubinet::jit
")
