// The device templates, embedded into the library when it is built (cmake/embed_templates.cmake).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cubinet::jit {

struct TemplateFile {
  std::string name;       // relative to templates/ or templates/sm90/, as an #include names it: "ptx/wgmma.cuh"
  std::string_view text;  // static storage; a NUL follows the text
  std::string digest;     // SHA-256, lower-case hexadecimal
};

// A file as template_files() holds it: `text` is borrowed, must be followed by a NUL and outlive the result.
TemplateFile make_template_file(std::string name, std::string_view text);

// Every template file, sorted by name. Built once, thread-safe.
const std::vector<TemplateFile>& template_files();

// What the lines `#include "name"` of a text name, in their order. Conditions are not evaluated, so the answer may
// name more than a compiler reads, never less: the templates include nothing by a macro.
std::vector<std::string_view> quoted_includes(std::string_view text);

// The files of `files` that `root` includes, directly or not, itself among them, sorted by name. Names are always
// relative to templates/ or templates/sm90/. An unknown name is a broken build and throws std::logic_error.
std::vector<const TemplateFile*> included_by(std::string_view root,
                                             const std::vector<TemplateFile>& files = template_files());

}  // namespace cubinet::jit
