// The table of template texts that cmake/embed_files.cmake generates when the library is built.
#pragma once

namespace cubinet::jit {

struct EmbeddedFile {
  const char* name;  // relative to templates/
  const char* text;  // static storage, terminated
  unsigned long size;
};
extern const EmbeddedFile embedded_files[];
extern const unsigned long embedded_file_count;

}  // namespace cubinet::jit
