// The device templates, embedded into the library when it is built (cmake/embed_templates.cmake).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cubinet::jit {

// The table of template texts in the generated source (cmake/embed_files.cmake), which template_files() reads.
struct EmbeddedFile {
  const char* name;  // relative to templates/
  const char* text;  // static storage, terminated
  unsigned long size;
};
extern const EmbeddedFile embedded_files[];
extern const unsigned long embedded_file_count;

struct TemplateFile {
  std::string name;       // as an #include names it: relative to templates/ or templates/<architecture>/
  std::string_view text;  // static storage, followed by a NUL
  std::string digest;     // SHA-256, lower-case hexadecimal
};

// Computes the digest of `text`. The text is borrowed: a NUL must follow it, and it must outlive the result.
TemplateFile make_template_file(std::string name, std::string_view text);

// The template files of an architecture, sorted by name: those in the folder templates/<architecture>, and those
// outside such folders, which all architectures share. Built once per architecture, thread-safe.
const std::vector<TemplateFile>& template_files(std::string_view architecture = "sm90");

// The names in the lines `#include "name"` of a text, in their order. Conditions are not evaluated, so the result may
// hold more names than a compiler reads, never fewer, because no template includes a file through a macro.
std::vector<std::string_view> quoted_includes(std::string_view text);

// `root` and the files of `files` that it includes, directly or not, sorted by name. Throws std::logic_error for a name
// that is not in `files`, because that is an error in the build.
std::vector<const TemplateFile*> included_by(std::string_view root,
                                             const std::vector<TemplateFile>& files = template_files());

}  // namespace cubinet::jit
