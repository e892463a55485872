#include "jit/templates.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "util/digest.hpp"

namespace cubinet::jit {

namespace {

// The folder of an architecture at the front of a path, such as "sm90/"; empty for a file that all architectures share.
std::string_view architecture_folder(std::string_view path) {
  if (!path.starts_with("sm")) return {};
  const std::size_t end = path.find_first_not_of("0123456789", 2);
  return end > 2 && end < path.size() && path[end] == '/' ? path.substr(0, end + 1) : std::string_view();
}

std::vector<TemplateFile> load_embedded(const std::string& folder) {
  std::vector<TemplateFile> files;
  for (unsigned long i = 0; i < embedded_file_count; ++i) {
    const EmbeddedFile& file = embedded_files[i];
    std::string_view name = file.name;
    const std::string_view own = architecture_folder(name);
    if (!own.empty() && own != folder) continue;
    name.remove_prefix(own.size());
    files.push_back(make_template_file(std::string(name), {file.text, file.size}));
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return files;
}

std::string_view without_leading_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

// Removes `prefix` and the blanks after it from the front of `text`. False if `text` does not start with `prefix`.
bool consume(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text = without_leading_blanks(text.substr(prefix.size()));
  return true;
}

const TemplateFile& find(const std::vector<TemplateFile>& files, std::string_view name, std::string_view includer) {
  for (const TemplateFile& file : files) {
    if (file.name == name) return file;
  }
  throw std::logic_error("template " + std::string(name) + ", included by " + std::string(includer) +
                         ", is not among the embedded files");
}

}  // namespace

TemplateFile make_template_file(std::string name, std::string_view text) {
  return {std::move(name), text, util::sha256_hex(text)};
}

const std::vector<TemplateFile>& template_files(std::string_view architecture) {
  static std::mutex mutex;
  static std::map<std::string, const std::vector<TemplateFile>, std::less<>> loaded;
  const std::lock_guard lock(mutex);
  auto found = loaded.find(architecture);
  if (found == loaded.end()) {
    found = loaded.emplace(architecture, load_embedded(std::string(architecture) + "/")).first;
  }
  return found->second;
}

std::vector<std::string_view> quoted_includes(std::string_view text) {
  std::vector<std::string_view> names;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = without_leading_blanks(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!consume(line, "#") || !consume(line, "include") || line.empty() || line.front() != '"') continue;
    const std::size_t close = line.find('"', 1);
    if (close != std::string_view::npos) names.push_back(line.substr(1, close - 1));
  }
  return names;
}

std::vector<const TemplateFile*> included_by(std::string_view root, const std::vector<TemplateFile>& files) {
  std::vector<const TemplateFile*> reached = {&find(files, root, "a kernel")};
  for (std::size_t next = 0; next < reached.size(); ++next) {
    const TemplateFile& file = *reached[next];
    for (const std::string_view name : quoted_includes(file.text)) {
      const TemplateFile* included = &find(files, name, file.name);
      if (std::find(reached.begin(), reached.end(), included) == reached.end()) reached.push_back(included);
    }
  }
  std::sort(reached.begin(), reached.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  return reached;
}

}  // namespace cubinet::jit
