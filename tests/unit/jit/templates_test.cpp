#include "jit/templates.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "catch.hpp"

using namespace cubinet;

namespace {

using Names = std::vector<std::string>;

Names names_of(const std::vector<const jit::TemplateFile*>& files) {
  Names names;
  for (const auto* file : files) names.push_back(file->name);
  return names;
}

// The text of a template in the source tree.
std::string text_in_tree(const std::string& name) {
  for (const char* folder : {CUBINET_SOURCE_DIR "/templates/sm90/", CUBINET_SOURCE_DIR "/templates/"}) {
    std::ifstream stream(folder + name, std::ios::binary);
    if (stream) return {std::istreambuf_iterator<char>(stream), {}};
  }
  return {};
}

}  // namespace

TEST_CASE("Quoted includes are found with any white space, and nothing else is") {
  const auto found = jit::quoted_includes(
      "#pragma once\n"
      "#include \"a.cuh\"\n"
      "  #  include   \"ptx/b.cuh\"  // why\n"
      "#include\"c.cuh\"\n"
      "// #include \"comment.cuh\"\n"
      "const char* text = \"#include\";\n"
      "#include <system.h>\n"
      "#include \"unclosed\n"
      "#define include \"d.cuh\"\n"
      "#include \"last.cuh\"");
  CHECK(Names(found.begin(), found.end()) == Names{"a.cuh", "ptx/b.cuh", "c.cuh", "last.cuh"});
}

TEST_CASE("All direct and indirect includes of a template are listed once, in order") {
  const std::vector<jit::TemplateFile> files = {
      jit::make_template_file("a.cuh", "#include \"z.cuh\"\n#include \"ptx/b.cuh\"\n"),
      jit::make_template_file("other.cuh", "#include \"a.cuh\"\n"),
      jit::make_template_file("ptx/b.cuh", "#include \"z.cuh\"\n"),
      jit::make_template_file("z.cuh", "#include \"a.cuh\"\n"),
  };
  CHECK(names_of(jit::included_by("a.cuh", files)) == Names{"a.cuh", "ptx/b.cuh", "z.cuh"});
  CHECK(names_of(jit::included_by("ptx/b.cuh", files)) == Names{"a.cuh", "ptx/b.cuh", "z.cuh"});
}

TEST_CASE("An include that names no template is an error of the build") {
  const std::vector<jit::TemplateFile> files = {jit::make_template_file("a.cuh", "#include \"missing.cuh\"\n")};
  CHECK_THROWS_AS(jit::included_by("a.cuh", files), std::logic_error);
  CHECK_THROWS_AS(jit::included_by("b.cuh", files), std::logic_error);
}

TEST_CASE("The embedded templates are exactly the files of the tree, byte for byte") {
  const auto& files = jit::template_files();
  REQUIRE(files.size() > 3);
  CHECK(std::is_sorted(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.name < b.name; }));
  for (const auto& file : files) {
    CHECK(text_in_tree(file.name) == file.text);
    CHECK(file.text.data()[file.text.size()] == '\0');
    CHECK(file.digest == jit::make_template_file("", file.text).digest);
    CHECK_NOTHROW(jit::included_by(file.name));
  }
}

TEST_CASE("An architecture has its own templates and those that all architectures share") {
  const auto names = [](std::string_view architecture) {
    Names result;
    for (const auto& file : jit::template_files(architecture)) result.push_back(file.name);
    return result;
  };
  const Names own = names("sm90"), other = names("sm1");
  CHECK(std::count(own.begin(), own.end(), "layout.cuh") == 1);
  CHECK(std::count(own.begin(), own.end(), "ptx/types.cuh") == 1);
  CHECK(std::count(other.begin(), other.end(), "layout.cuh") == 0);
  CHECK(std::count(other.begin(), other.end(), "ptx/types.cuh") == 1);
}
