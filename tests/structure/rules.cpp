#include "structure/rules.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace cubinet::structure {
namespace {

namespace fs = std::filesystem;

// The layers, lowest first. A layer may include itself and the layers before it.
constexpr std::array<std::string_view, 8> layers = {
    "util", "cache", "jit", "warmup/planning", "warmup/execution", "warmup/campaign", "capi", "tools"};

// Third-party headers that only one module may include, and the layer of that module.
struct Seam {
  std::string_view header;  // a name that ends in '/' means all headers of that folder
  std::string_view layer;
};
constexpr std::array<Seam, 5> seams = {
    {{"sqlite3.h", "cache"}, {"zstd.h", "cache"}, {"nvrtc.h", "jit"}, {"cuda.h", "jit"}, {"CLI/", "tools"}}};

bool guards(const Seam& seam, std::string_view name) {
  return seam.header.ends_with('/') ? name.starts_with(seam.header) : name == seam.header;
}

std::string_view folder_of(std::string_view path) { return path.substr(0, path.find('/')); }

// The position in `layers` of the layer that the file at `path` belongs to; -1 for a file outside all layers.
int rank_of(std::string_view path) {
  const auto found = std::find_if(layers.begin(), layers.end(), [&](std::string_view layer) {
    return path.size() > layer.size() && path.starts_with(layer) && path[layer.size()] == '/';
  });
  return found == layers.end() ? -1 : static_cast<int>(found - layers.begin());
}

// "templates/sm90/" for a template of that architecture; empty for one that all architectures share.
std::string architecture_folder(std::string_view path) {
  static const std::regex pattern(R"(^templates/sm[0-9]+/)");
  std::match_results<std::string_view::const_iterator> match;
  return std::regex_search(path.begin(), path.end(), match, pattern) ? match.str() : std::string();
}

// "jit/sm90/" for a file of that architecture; empty for one that does not depend on the architecture.
std::string host_architecture_folder(std::string_view path) {
  static const std::regex pattern(R"(^jit/sm[0-9]+/)");
  std::match_results<std::string_view::const_iterator> match;
  return std::regex_search(path.begin(), path.end(), match, pattern) ? match.str() : std::string();
}

// A header that host and kernels share: templates/shared/a.cuh, templates/sm90/shared/a.cuh.
bool is_shared_template(std::string_view path) {
  return path.starts_with("templates/") && path.find("/shared/") != std::string_view::npos;
}

std::string without_extension(std::string_view path) { return std::string(path.substr(0, path.rfind('.'))); }

bool is_header(std::string_view path) { return path.ends_with(".hpp") || path.ends_with(".h"); }

// <vector>, <cstdint>, and the headers of C that a C interface needs.
bool is_standard(std::string_view name) {
  static const std::set<std::string_view> c_headers = {"stdbool.h", "stddef.h", "stdint.h"};
  return name.find_first_of("./") == std::string_view::npos || c_headers.count(name) != 0;
}

// The position after the comment or quoted literal that starts at `at`; `at` itself if none starts there. Raw string
// literals are not recognized; none of them contains an #include line.
std::size_t end_of_token(const std::string& text, std::size_t at) {
  const auto after = [&](std::string_view mark, std::size_t from) {
    const std::size_t found = text.find(mark, from);
    return found == std::string::npos ? text.size() : found + mark.size();
  };
  if (text.compare(at, 2, "//") == 0) return std::min(text.find('\n', at), text.size());
  if (text.compare(at, 2, "/*") == 0) return after("*/", at + 2);
  const char quote = text[at];
  if (quote != '"' && quote != '\'') return at;
  for (std::size_t i = at + 1; i < text.size() && text[i] != '\n'; ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == quote)
      return i + 1;
  }
  return at;  // no literal: a digit separator or an apostrophe
}

// The text with blanks in place of its comments; line ends stay.
std::string without_comments(std::string text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = end_of_token(text, i);
    if (text[i] == '/') {
      for (std::size_t j = i; j < end; ++j) text[j] = text[j] == '\n' ? '\n' : ' ';
    }
    i = std::max(end, i + 1);
  }
  return text;
}

// The error in a test's name; empty if there is none. ctest lists names in a CMake script and passes each to the test's
// executable, which reads it as an option or a pattern: "--help ..." prints the help and succeeds, and "~..." runs all
// tests except that one. CMake splits a list at ";". Catch2's script escapes commas.
std::string fault_of_test_name(std::string_view name) {
  for (const std::string_view lead : {"-", "~", "*", "exclude:"}) {
    if (name.starts_with(lead)) return "begins with " + std::string(lead);
  }
  if (name.ends_with('*')) return "ends with *";
  const std::size_t bad = name.find_first_of("[];\\\"");
  return bad == std::string_view::npos ? std::string() : "holds " + std::string(1, name[bad]);
}

// Joins the string literals that `text` consists of, without their quotes. Escapes are not decoded.
std::string joined_literals(const std::string& text) {
  static const std::regex literal(R"re("((?:[^"\\]|\\.)*)")re");
  std::string joined;
  for (std::sregex_iterator it(text.begin(), text.end(), literal), end; it != end; ++it) joined += (*it)[1];
  return joined;
}

class Checker {
 public:
  explicit Checker(const std::vector<File>& files) : files_(files) {
    for (const File& file : files_) known_.insert(file.path);
  }

  std::vector<std::string> run() {
    for (const File& file : files_) {
      check_includes(file);
      if (rank_of(file.path) >= 0 && folder_of(file.path) != "tools") check_silence(file);
      if (folder_of(file.path) == "tests") check_test_names(file);
    }
    check_seams();
    return std::move(found_);
  }

 private:
  void report(const File& file, int line, const std::string& what) {
    found_.push_back(file.path + ":" + std::to_string(line) + ": " + what);
  }

  void check_includes(const File& file) {
    const std::string_view folder = folder_of(file.path);
    for (const Include& include : includes_of(file.text)) {
      if (folder == "templates") {
        check_template(file, include);
      } else if (folder == "include") {
        check_public(file, include);
      } else if (folder == "python") {
        check_binding(file, include);
      } else if (rank_of(file.path) >= 0) {
        check_layer(file, include);
      }
    }
  }

  // A template may include files of templates/, and a template of templates/<architecture>/ also files of that folder.
  // NVRTC gets no other files.
  void check_template(const File& file, const Include& include) {
    if (is_shared_template(file.path)) {
      report(file, include.line, "a header that host and device share includes " + include.name);
      return;
    }
    const bool shared = known_.count("templates/" + include.name) != 0;
    const std::string folder = architecture_folder(file.path);
    const bool own = !folder.empty() && known_.count(folder + include.name) != 0;
    if (include.angled || !(shared || own)) {
      report(file, include.line, "a template includes \"" + include.name + "\", which is not under templates/");
    }
  }

  void check_public(const File& file, const Include& include) {
    const bool ours = !include.angled && known_.count("include/" + include.name) != 0;
    if (!ours && !(include.angled && is_standard(include.name))) {
      report(file, include.line, "a public header includes " + include.name);
    }
  }

  // The Python package uses the library only through its public headers.
  void check_binding(const File& file, const Include& include) {
    if (include.angled || include.name.starts_with("python/") || known_.count("include/" + include.name) != 0) return;
    report(file, include.line, "the Python package includes " + include.name + ", which is not public");
  }

  void check_layer(const File& file, const Include& include) {
    if (include.angled) {
      check_outside(file, include);
    } else if (known_.count("include/" + include.name) != 0) {
      return;
    } else if (known_.count(include.name) == 0) {
      report(file, include.line, "\"" + include.name + "\" is no file of the tree; name it from the root");
    } else if (is_shared_template(include.name)) {
      if (rank_of(file.path) < rank_of("jit/")) {
        report(file, include.line, include.name + " is shared with jit/ and the layers above it");
      }
    } else if (const int target = rank_of(include.name); target < 0) {
      report(file, include.line, "a layer includes " + include.name + ", which is in no layer");
    } else if (const std::string own = host_architecture_folder(include.name);
               !own.empty() && !file.path.starts_with(own) && !file.path.starts_with("jit/families/")) {
      report(file, include.line, include.name + " is for " + own + " and jit/families/ only");
    } else if (target > rank_of(file.path)) {
      report(file, include.line, "the arrow to " + include.name + " points up");
    }
  }

  void check_outside(const File& file, const Include& include) {
    if (include.name == "nlohmann/json.hpp" && is_header(file.path)) {
      report(file, include.line, "nlohmann/json belongs in .cpp files; a header takes <nlohmann/json_fwd.hpp>");
    }
    for (std::size_t i = 0; i < seams.size(); ++i) {
      if (!guards(seams[i], include.name)) continue;
      users_[i].insert(without_extension(file.path));
      if (folder_of(file.path) != seams[i].layer) {
        report(file, include.line, include.name + " belongs to " + std::string(seams[i].layer) + "/");
      }
    }
  }

  // Only one module includes each guarded header, so that tests can replace the module by a fake.
  void check_seams() {
    for (const auto& [seam, modules] : users_) {
      if (modules.size() < 2) continue;
      std::string list;
      for (const std::string& module : modules) list += (list.empty() ? "" : ", ") + module;
      found_.push_back(std::string(seams[seam].header) + " is included by several modules: " + list);
    }
  }

  // The library prints nothing, and reads the environment in one file.
  void check_silence(const File& file) {
    static const std::regex prints(
        R"(std::(cout|cerr|clog)\b|\bf?printf\s*\(|\bfputs\s*\(|std::(_?exit|quick_exit)\b)");
    static const std::regex environment(R"(\bgetenv\s*\()");
    std::istringstream lines(file.text);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
      const std::string code = line.substr(0, line.find("//"));
      if (std::regex_search(code, prints)) report(file, number, "the library prints or exits");
      if (std::regex_search(code, environment)) note_environment(file, number);
    }
  }

  void note_environment(const File& file, int line) {
    if (environment_reader_.empty()) environment_reader_ = file.path;
    if (environment_reader_ != file.path) {
      report(file, line, "the environment is read here and in " + environment_reader_);
    }
  }

  void check_test_names(const File& file) {
    static const std::regex test_case(R"re(\bTEST_CASE\s*\(((?:\s*"(?:[^"\\\n]|\\.)*")+))re");
    const std::string text = without_comments(file.text);
    for (std::sregex_iterator it(text.begin(), text.end(), test_case), end; it != end; ++it) {
      const std::string name = joined_literals((*it)[1]);
      const std::string fault = fault_of_test_name(name);
      if (fault.empty()) continue;
      const auto line = 1 + std::count(text.begin(), text.begin() + it->position(), '\n');
      const std::string what = "the name of the test \"" + name + "\" " + fault;
      report(file, static_cast<int>(line), what + ", so ctest does not run it alone");
    }
  }

  const std::vector<File>& files_;
  std::set<std::string, std::less<>> known_;
  std::map<std::size_t, std::set<std::string>> users_;  // index into seams -> modules
  std::string environment_reader_;
  std::vector<std::string> found_;
};

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) throw std::runtime_error("cannot read " + path.string());
  return text.str();
}

}  // namespace

std::vector<Include> includes_of(const std::string& text) {
  static const std::regex pattern(R"re(^\s*#\s*include\s*([<"])([^>"]+)[>"])re");
  std::vector<Include> result;
  std::istringstream lines(without_comments(text));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::smatch match;
    if (std::regex_search(line, match, pattern)) result.push_back({match[2], match[1] == "<", number});
  }
  return result;
}

std::vector<std::string> breaches(const std::vector<File>& files) { return Checker(files).run(); }

std::vector<File> read_tree(const fs::path& root) {
  static const std::set<std::string> extensions = {".cpp", ".hpp", ".h", ".cuh"};
  std::vector<fs::path> folders = {root / "include", root / "templates", root / "python", root / "tests"};
  for (const std::string_view layer : layers) folders.push_back(root / layer);
  std::vector<File> files;
  for (const fs::path& folder : folders) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file() || extensions.count(entry.path().extension().string()) == 0) continue;
      files.push_back({entry.path().lexically_relative(root).generic_string(), read(entry.path())});
    }
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.path < b.path; });
  return files;
}

}  // namespace cubinet::structure
