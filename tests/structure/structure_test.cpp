#include <algorithm>

#include "catch.hpp"
#include "structure/rules.hpp"

namespace cubinet::structure {
namespace {

// A tree without violations that has one file per folder, plus the file `path` with `text`.
std::vector<File> planted(const std::string& path, const std::string& text) {
  return {{"cache/index.cpp", "#include <sqlite3.h>\n#include \"util/files.hpp\"\n"},
          {"include/cubinet/error.hpp", "#include <string>\n"},
          {"jit/driver.hpp", "#include <cuda.h>\n#include \"cubinet/error.hpp\"\n"},
          {"jit/sm90/launch.hpp", ""},
          {"jit/nvrtc.cpp", "#include <nvrtc.h>\n#include \"cache/key.hpp\"\n"},
          {"cache/key.hpp", "#include <array>\n"},
          {"templates/types.cuh", ""},
          {"templates/sm90/shared/gemm.cuh", ""},
          {"templates/sm90/layout.cuh", "#include \"types.cuh\"\n"},
          {"templates/sm90/ptx/wgmma.cuh", "#include \"layout.cuh\"\n"},
          {"tools/command_line.cpp", "#include <CLI/CLI.hpp>\n"},
          {"tools/main.cpp", "#include \"warmup/planning/plan.hpp\"\n"},
          {"util/files.hpp", "#include <vector>\n"},
          {"warmup/campaign/runner.hpp", "#include \"warmup/execution/executor.hpp\"\n"},
          {"warmup/execution/executor.hpp", "#include \"warmup/planning/plan.hpp\"\n"},
          {"warmup/planning/plan.hpp", "#include \"jit/driver.hpp\"\n"},
          {path, text}};
}

// The violation in a tree with this file; empty if there is none.
std::string breach(const std::string& path, const std::string& text) {
  const std::vector<std::string> found = breaches(planted(path, text));
  REQUIRE(found.size() <= 1);
  return found.empty() ? "" : found.front();
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("The source tree follows the rules") {
  const std::vector<File> files = read_tree(CUBINET_SOURCE_DIR);
  // If no files are found, the check proves nothing.
  for (const std::string folder :
       {"util/", "cache/", "jit/", "warmup/planning/", "warmup/execution/", "warmup/campaign/", "tools/", "python/",
        "templates/", "include/cubinet/", "tests/"}) {
    INFO(folder);
    CHECK(std::any_of(files.begin(), files.end(), [&](const File& file) { return file.path.starts_with(folder); }));
  }
  std::string list;
  for (const std::string& line : breaches(files)) list += line + "\n";
  CHECK(list == "");
}

TEST_CASE("A tree that includes only lower layers has no violation") {
  CHECK(breach("cache/entry.cpp", "#include \"cache/key.hpp\"\n#include \"util/files.hpp\"\n") == "");
}

TEST_CASE("An include of a higher layer is found in every layer") {
  CHECK(contains(breach("util/a.cpp", "\n#include \"cache/key.hpp\"\n"), "util/a.cpp:2: the arrow to cache/key.hpp"));
  CHECK(contains(breach("cache/a.cpp", "#include \"jit/driver.hpp\"\n"), "points up"));
  CHECK(contains(breach("jit/a.cpp", "#include \"warmup/planning/plan.hpp\"\n"), "points up"));
  CHECK(contains(breach("warmup/campaign/a.cpp", "  #  include \"tools/main.cpp\"\n"), "points up"));
}

TEST_CASE("Planning includes neither execution nor the campaign, and execution does not include the campaign") {
  CHECK(contains(breach("warmup/planning/a.cpp", "#include \"warmup/execution/executor.hpp\"\n"), "points up"));
  CHECK(contains(breach("warmup/planning/a.cpp", "#include \"warmup/campaign/runner.hpp\"\n"), "points up"));
  CHECK(contains(breach("warmup/execution/a.cpp", "#include \"warmup/campaign/runner.hpp\"\n"), "points up"));
  CHECK(breach("warmup/campaign/a.cpp", "#include \"warmup/planning/plan.hpp\"\n") == "");
}

TEST_CASE("An include in a comment or a string literal does not count") {
  CHECK(breach("util/a.cpp", "// #include \"jit/driver.hpp\"\n/*\n#include \"jit/driver.hpp\"\n*/\n") == "");
  CHECK(breach("util/a.cpp", "auto s = \"#include <cuda.h>\";\n") == "");
  CHECK(breach("util/a.cpp", "auto s = \"//\";\n#include \"jit/driver.hpp\"\n") != "");
}

TEST_CASE("An include without the path from the root of the tree is found") {
  CHECK(contains(breach("util/a.cpp", "#include \"files.hpp\"\n"), "name it from the root"));
  CHECK(contains(breach("util/a.cpp", "#include \"templates/types.cuh\"\n"), "in no layer"));
}

TEST_CASE("The headers that kernels share with the host are included by jit and the layers above it") {
  CHECK(breach("jit/a.cpp", "#include \"templates/sm90/shared/gemm.cuh\"\n") == "");
  CHECK(breach("warmup/execution/a.cpp", "#include \"templates/sm90/shared/gemm.cuh\"\n") == "");
  CHECK(contains(breach("cache/a.cpp", "#include \"templates/sm90/shared/gemm.cuh\"\n"), "shared with jit/"));
  CHECK(breach("templates/sm90/a.cuh", "#include \"shared/gemm.cuh\"\n") == "");
  CHECK(contains(breach("templates/sm90/shared/a.cuh", "#include \"types.cuh\"\n"), "that host and device share"));
}

TEST_CASE("An architecture's folder is included by itself and by the families") {
  CHECK(breach("jit/sm90/a.cpp", "#include \"jit/sm90/launch.hpp\"\n") == "");
  CHECK(breach("jit/families/a.cpp", "#include \"jit/sm90/launch.hpp\"\n") == "");
  CHECK(contains(breach("jit/a.cpp", "#include \"jit/sm90/launch.hpp\"\n"), "jit/sm90/ and jit/families/ only"));
  CHECK(contains(breach("jit/sm80/a.cpp", "#include \"jit/sm90/launch.hpp\"\n"), "jit/families/ only"));
  CHECK(contains(breach("warmup/campaign/a.cpp", "#include \"jit/sm90/launch.hpp\"\n"), "jit/families/ only"));
}

TEST_CASE("A template that includes a file outside of templates is found") {
  CHECK(breach("templates/a.cuh", "#include \"types.cuh\"\n") == "");
  CHECK(breach("templates/sm90/a.cuh", "#include \"ptx/wgmma.cuh\"\n#include \"types.cuh\"\n") == "");
  CHECK(contains(breach("templates/a.cuh", "#include \"ptx/wgmma.cuh\"\n"), "not under templates/"));
  CHECK(contains(breach("templates/sm80/a.cuh", "#include \"ptx/wgmma.cuh\"\n"), "not under templates/"));
  CHECK(contains(breach("templates/a.cuh", "#include <cuda_bf16.h>\n"), "not under templates/"));
  CHECK(contains(breach("templates/a.cuh", "#include \"util/files.hpp\"\n"), "not under templates/"));
}

TEST_CASE("A public header that includes a third-party or internal header is found") {
  CHECK(breach("include/cubinet/a.hpp", "#include <stdint.h>\n#include \"cubinet/error.hpp\"\n") == "");
  CHECK(contains(breach("include/cubinet/a.hpp", "#include <tl/expected.hpp>\n"), "public header"));
  CHECK(contains(breach("include/cubinet/a.hpp", "#include <cuda.h>\n"), "public header"));
  CHECK(contains(breach("include/cubinet/a.hpp", "#include \"util/files.hpp\"\n"), "public header"));
}

TEST_CASE("A binding that includes an internal header is found") {
  CHECK(breach("python/src/a.cpp", "#include <Python.h>\n#include \"cubinet/error.hpp\"\n") == "");
  CHECK(breach("python/src/a.cpp", "#include \"python/src/a.hpp\"\n") == "");
  CHECK(contains(breach("python/src/a.cpp", "#include \"util/files.hpp\"\n"), "which is not public"));
}

TEST_CASE("A second module that includes a guarded header is found") {
  CHECK(contains(breach("cache/other.cpp", "#include <sqlite3.h>\n"), "cache/index, cache/other"));
  CHECK(contains(breach("jit/other.cpp", "#include <nvrtc.h>\n"), "jit/nvrtc, jit/other"));
  CHECK(contains(breach("jit/other.hpp", "#include <cuda.h>\n"), "jit/driver, jit/other"));
  CHECK(contains(breach("tools/other.cpp", "#include <CLI/App.hpp>\n"), "tools/command_line, tools/other"));
  CHECK(breach("jit/driver.cpp", "#include <cuda.h>\n") == "");
  CHECK(breach("tools/command_line.cpp", "#include <CLI/Validators.hpp>\n") == "");
  CHECK(breaches(planted("warmup/campaign/a.cpp", "#include <cuda.h>\n")).size() == 2);
}

TEST_CASE("A command-line parser outside tools is found") {
  const std::vector<std::string> found = breaches(planted("warmup/campaign/a.cpp", "#include <CLI/CLI.hpp>\n"));
  REQUIRE(found.size() == 2);
  CHECK(contains(found.front(), "warmup/campaign/a.cpp:1: CLI/CLI.hpp belongs to tools/"));
  CHECK(contains(found.back(), "tools/command_line, warmup/campaign/a"));
}

TEST_CASE("A header that includes JSON is found") {
  CHECK(contains(breach("jit/a.hpp", "#include <nlohmann/json.hpp>\n"), "nlohmann/json"));
  CHECK(breach("jit/a.cpp", "#include <nlohmann/json.hpp>\n") == "");
}

TEST_CASE("A library that prints, exits or reads the environment twice is found") {
  CHECK(contains(breach("jit/a.cpp", "void f() { std::cerr << 1; }\n"), "jit/a.cpp:1: the library prints"));
  CHECK(contains(breach("util/a.cpp", "void f() { printf(\"x\"); }\n"), "prints or exits"));
  CHECK(contains(breach("cache/a.cpp", "void f() { std::exit(1); }\n"), "prints or exits"));
  CHECK(breach("tools/a.cpp", "void f() { std::cout << 1; }\n") == "");
  CHECK(breach("jit/a.cpp", "auto v = std::getenv(\"HOME\");\n") == "");
  std::vector<File> two = planted("jit/a.cpp", "auto v = std::getenv(\"HOME\");\n");
  two.push_back({"warmup/campaign/b.cpp", "auto v = getenv(\"HOME\");\n"});
  REQUIRE(breaches(two).size() == 1);
  CHECK(contains(breaches(two).front(), "warmup/campaign/b.cpp:1: the environment is read here and in jit/a.cpp"));
}

// The violation in a tree with a test of this name; empty if there is none.
std::string breach_of_name(const std::string& name) {
  return breach("tests/a_test.cpp", "\nTEST_CASE(\"" + name + "\") {}\n");
}

TEST_CASE("A test name with which ctest runs no test, or another one, is found") {
  CHECK(contains(breach_of_name("--help names it"), "tests/a_test.cpp:2: the name of the test"));
  CHECK(contains(breach_of_name("-1 is refused"), "begins with -"));
  CHECK(contains(breach_of_name("~x is refused"), "begins with ~"));
  CHECK(contains(breach_of_name("* is refused"), "begins with *"));
  CHECK(contains(breach_of_name("exclude:d is refused"), "begins with exclude:"));
  CHECK(contains(breach_of_name("A name of any *"), "ends with *"));
  CHECK(contains(breach_of_name("A range [0, 1) is read"), "holds ["));
  CHECK(contains(breach_of_name("One; two"), "holds ;"));
  CHECK(contains(breach_of_name("The word \\\"x\\\" is quoted"), "holds \\"));
}

TEST_CASE("A plain test name has no violation, also with a comma, a dash or an option in it") {
  CHECK(breach_of_name("Commas, dashes - and --options: these * too, says (x's) test") == "");
  CHECK(breach("tests/a_test.cpp", "// TEST_CASE(\"-x\")\n") == "");
  CHECK(breach("jit/a.cpp", "TEST_CASE(\"-x\") {}\n") == "");
}

TEST_CASE("A test name that is broken over lines is found") {
  const std::string path = "tests/a_test.cpp";
  CHECK(contains(breach(path, "TEST_CASE(\n    \"One\"\n    \"; two\") {}\n"), "\"One; two\" holds ;"));
  CHECK(contains(breach(path, "TEST_CASE(\"One\", \"[tag]\") {}\nTEST_CASE (\"-x\") {}\n"), "a_test.cpp:2:"));
}

}  // namespace
}  // namespace cubinet::structure
