// With the real NVRTC, on a shape that compiles fast.
#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "command.hpp"

namespace {

using namespace cubinet::cli;
namespace fs = std::filesystem;

constexpr fs::perms all_write = fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write;

// One kernel.
const Arguments small{"warmup", "--shape", "128,128,2", "--layout", "masked", "--m-max", "8", "--no-generic", "--json"};

Arguments with(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace

TEST_CASE("A second warmup compiles nothing, and the kernels are those of the plan") {
  Sandbox sandbox;
  const Outcome first = sandbox.run(small);
  INFO(first.err);
  REQUIRE(first.exit_code == 0);
  const auto report = object_of(first);
  CHECK(report.at("compiled") == 1);
  CHECK(report.at("stored") == 1);
  CHECK(report.at("hits") == 0);
  CHECK(report.at("failed") == 0);
  CHECK(report.at("failures").empty());
  CHECK(report.at("executed") == 0);
  CHECK(report.at("not_executed").empty());
  CHECK(report.at("launches") == 0);
  CHECK(report.at("peak_device_bytes") == 0);
  CHECK(report.at("seconds") > 0);
  CHECK(report.at("persist") == "on");
  CHECK(fs::path(report.at("cache").get<std::string>()) == fs::path(sandbox.path("home/.cache/cubinet")));

  const auto again = object_of(sandbox.run(small));
  CHECK(again.at("compiled") == 0);
  CHECK(again.at("stored") == 0);
  CHECK(again.at("hits") == 1);

  const auto plan = object_of(
      sandbox.run({"plan", "--shape", "128,128,2", "--layout", "masked", "--m-max", "8", "--no-generic", "--json"}));
  const auto entries = object_of(sandbox.run({"cache", "ls", "--json"})).at("entries");
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].at("key") == plan.at("kernels").at(0).at("key"));
  CHECK(entries[0].at("hits") == 1);

  fs::rename(sandbox.path("home/.cache/cubinet"), sandbox.path("moved"));
  sandbox.environment = {{"CUBINET_CACHE_DIR", sandbox.path("moved")}, {"LC_ALL", "C.UTF-8"}, {"TZ", "Asia/Tokyo"}};
  CHECK(object_of(sandbox.run(small)).at("hits") == 1);
}

TEST_CASE("An FP8 warmup stores the kernels of the plan and the quantiser, and a second one compiles nothing") {
  const Sandbox sandbox;
  const Arguments request{"--shape", "128,128,2", "--layout", "masked",      "--m-max",
                          "8",       "--dtype",   "fp8",      "--no-generic"};
  const Outcome first = sandbox.run(with({"warmup"}, with(request, {"--json"})));
  INFO(first.err);
  REQUIRE(first.exit_code == 0);
  CHECK(object_of(first).at("compiled") == 2);
  CHECK(object_of(sandbox.run(with({"warmup"}, with(request, {"--json"})))).at("hits") == 2);

  const auto kernels = object_of(sandbox.run(with({"plan"}, with(request, {"--json"})))).at("kernels");
  const auto entries = object_of(sandbox.run({"cache", "ls", "--json"})).at("entries");
  REQUIRE(entries.size() == 2);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (const char* field : {"key", "family", "n", "k"}) CHECK(entries[i].at(field) == kernels.at(i).at(field));
    CHECK(entries[i].at("config") == kernels.at(i).at("config").at("name"));
  }
  CHECK(entries[1].at("family") == "fp8_quantization");

  const std::string table = sandbox.run({"cache", "ls"}).out;
  const std::size_t row = table.find("fp8_quantization");
  REQUIRE(row != std::string::npos);
  CHECK(table.substr(row, table.find('\n', row) - row).find("  -  -  ") != std::string::npos);
  const std::string shown = sandbox.run({"cache", "show", entries[1].at("key").get<std::string>()}).out;
  CHECK(shown.find("N, K          -, -\nconfig        -\n") != std::string::npos);
}

TEST_CASE("The configuration in a plan has every constant of the kernel's record besides N and K") {
  const Sandbox sandbox;
  const Arguments request{"--shape", "128,128,2", "--m-max", "8", "--dtype", "bf16,fp8", "--no-generic"};
  REQUIRE(sandbox.run(with({"warmup"}, request)).exit_code == 0);
  const auto kernels = object_of(sandbox.run(with({"plan"}, with(request, {"--json"})))).at("kernels");
  REQUIRE(kernels.size() == 5);
  for (const auto& kernel : kernels) {
    INFO(kernel.dump());
    const auto entry = object_of(sandbox.run({"cache", "show", kernel.at("key"), "--json"}));
    std::multiset<nlohmann::json> constants;
    for (const auto& [name, value] : entry.at("record").at("constants").items()) {
      if (name != "kN" && name != "kK") constants.insert(value);
    }
    std::multiset<nlohmann::json> listed;
    for (const auto& [name, value] : kernel.at("config").items()) {
      if (name != "name") listed.insert(value);
    }
    CHECK(listed == constants);
  }
}

TEST_CASE("The cache folder is the flag's, else the first that the environment names") {
  Sandbox sandbox;
  const auto chosen = [&](const Arguments& more) {
    return object_of(sandbox.run(with(small, more))).at("cache").get<std::string>();
  };
  sandbox.environment["XDG_CACHE_HOME"] = sandbox.path("xdg");
  CHECK(chosen({}) == sandbox.path("xdg/cubinet"));
  sandbox.environment["CUBINET_CACHE_DIR"] = sandbox.path("own");
  CHECK(chosen({}) == sandbox.path("own"));
  CHECK(chosen({"--cache", sandbox.path("flag")}) == sandbox.path("flag"));
}

TEST_CASE("A cache folder that cannot be made or written is refused before anything is compiled") {
  Sandbox sandbox;
  const std::string file = sandbox.file("file", "not a folder");
  fs::create_directory(sandbox.path("foreign"));
  sandbox.file("foreign/important.txt", "keep me");
  fs::create_directory(sandbox.path("closed"));
  fs::permissions(sandbox.path("closed"), fs::perms::owner_read | fs::perms::owner_exec);
  sandbox.unprivileged = true;
  const auto before = contents(sandbox.folder());
  for (const std::string& root : {file, file + "/below", sandbox.path("foreign"), sandbox.path("closed/cabinet")}) {
    const Outcome outcome = sandbox.run(with(small, {"--cache", root}));
    INFO(root << ": " << outcome.err);
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.err.find(root) != std::string::npos);
    CHECK(object_of(outcome).contains("error"));
    CHECK(contents(sandbox.folder()) == before);
  }
}

TEST_CASE("A cabinet that cannot be written serves a full plan and refuses one that lacks a kernel") {
  Sandbox sandbox;
  sandbox.unprivileged = true;
  const Arguments here{"--cache", sandbox.path("cabinet")};
  REQUIRE(sandbox.run(with(small, here)).exit_code == 0);
  for (const auto& entry : fs::recursive_directory_iterator(sandbox.path("cabinet"))) {
    fs::permissions(entry, all_write, fs::perm_options::remove);
  }
  fs::permissions(sandbox.path("cabinet"), all_write, fs::perm_options::remove);
  const auto before = contents(sandbox.folder());

  const Outcome full = sandbox.run(with(small, here));
  INFO(full.err);
  CHECK(full.exit_code == 0);
  CHECK(object_of(full).at("hits") == 1);
  CHECK(object_of(full).at("persist") == "readonly");

  const Outcome lacking = sandbox.run(with(small, with(here, {"--shape", "256,128,2"})));
  CHECK(lacking.exit_code == 1);
  CHECK(lacking.err.find("1 of 2 kernels") != std::string::npos);
  CHECK(lacking.err.find("Permission denied") != std::string::npos);
  CHECK(lacking.err.find("--cache") != std::string::npos);
  CHECK(contents(sandbox.folder()) == before);
  for (const auto& entry : fs::recursive_directory_iterator(sandbox.path("cabinet"))) {
    fs::permissions(entry, fs::perms::owner_all, fs::perm_options::add);
  }
}
