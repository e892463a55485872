// The device templates, embedded into the library when it is built (cmake/embed_templates.cmake).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cubinet::jit {

struct TemplateFile {
  std::string name;         // relative to templates/, as an #include names it: "ptx/wgmma.cuh"
  std::string_view text;    // static storage
  std::string digest;       // SHA-256, lower-case hexadecimal
};

// Every template file, sorted by name. Built once, thread-safe.
const std::vector<TemplateFile>& template_files();

// The files that `root` includes, itself among them, sorted by name. An unknown include is a
// broken build and throws std::logic_error.
std::vector<const TemplateFile*> included_by(std::string_view root);

}  // namespace cubinet::jit
