// Tests of warmups with the real NVRTC, of a shape that compiles fast.
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "command.hpp"
#include "unit/cache/index_holder.hpp"

namespace {

using namespace cubinet::cli;
namespace fs = std::filesystem;

constexpr fs::perms all_write = fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write;

// Checks a warmup that finds all kernels and cannot record that; the note contains `reason`.
void check_unrecorded(const Sandbox& sandbox, const Arguments& arguments, const std::string& reason,
                      const std::string& coverage = "none", const std::string& words = "complete, but not recorded: ") {
  const Outcome outcome = sandbox.run(arguments);
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  const auto report = object_of(outcome);
  CHECK(report.at("hits") == 1);
  CHECK(report.at("compiled") == 0);
  CHECK(report.at("coverage") == coverage);
  CHECK(report.at("coverage_problem").get<std::string>().find(reason) != std::string::npos);
  CHECK(outcome.err.find(words) != std::string::npos);
  CHECK(outcome.err.find(reason) != std::string::npos);
  CHECK(sandbox.run(with(arguments, {"--quiet"})).err.empty());
}

// Removes the coverage records of a cabinet.
void forget(const std::string& cabinet) { fs::remove(cabinet + "/index.db"); }

// Removes the write permissions of a cabinet, or restores them.
void set_writable(const std::string& cabinet, bool writable) {
  const auto set = [&](const fs::path& path) {
    fs::permissions(path, writable ? fs::perms::owner_all : all_write,
                    writable ? fs::perm_options::add : fs::perm_options::remove);
  };
  for (const auto& entry : fs::recursive_directory_iterator(cabinet)) set(entry);
  set(cabinet);
}

}  // namespace

TEST_CASE("warmup prints how each number was derived, and the notes, as plan does") {
  const Sandbox sandbox;
  const std::string model = sandbox.file("m.json", R"({"model_type": "a_new_moe", "num_experts": 4, "hidden_size": 128,
                                                       "moe_intermediate_size": 128, "mlp_hidden_act": "relu2"})");
  const Arguments arguments{"warmup",   "--model", model,     "--ep", "2",
                            "--layout", "masked",  "--m-max", "8",    "--no-generic"};
  const Outcome text = sandbox.run(arguments);
  INFO(text.err);
  REQUIRE(text.exit_code == 0);
  CHECK(text.out.find("groups 2    = num_experts 4 / ep 2\n"
                      "GEMM1 N 128 = moe_intermediate_size 128 / 1, no gate: mlp_hidden_act relu2\n") == 0);
  CHECK(text.err.find("note: " + model + ": model_type a_new_moe is unknown") != std::string::npos);
  const auto report = object_of(sandbox.run(with(arguments, {"--json"})));
  const auto plan = object_of(sandbox.run(with({"plan", "--json"}, {arguments.begin() + 1, arguments.end()})));
  CHECK(report.at("derivation").size() == 6);
  CHECK(report.at("derivation") == plan.at("derivation"));
  CHECK(report.at("notes").size() == 1);
  CHECK(report.at("notes") == plan.at("notes"));
  CHECK(sandbox.run(with(arguments, {"--quiet"})).out.find("groups") == std::string::npos);
}

TEST_CASE("A second warmup compiles nothing, and the kernels are those of the plan") {
  Sandbox sandbox;
  const Outcome first = sandbox.run(warm_one_kernel);
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

  const auto again = object_of(sandbox.run(warm_one_kernel));
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
  CHECK(object_of(sandbox.run(warm_one_kernel)).at("hits") == 1);
}

TEST_CASE("An FP8 warmup stores the kernels of the plan and fp8_quantization, and a second one compiles nothing") {
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

TEST_CASE("The cache folder is that of --cache, else the first one that the environment names") {
  Sandbox sandbox;
  const auto chosen = [&](const Arguments& more) {
    return object_of(sandbox.run(with(warm_one_kernel, more))).at("cache").get<std::string>();
  };
  sandbox.environment["XDG_CACHE_HOME"] = sandbox.path("xdg");
  CHECK(chosen({}) == sandbox.path("xdg/cubinet"));
  sandbox.environment["CUBINET_CACHE_DIR"] = sandbox.path("own");
  CHECK(chosen({}) == sandbox.path("own"));
  CHECK(chosen({"--cache", sandbox.path("flag")}) == sandbox.path("flag"));
}

TEST_CASE("A cache folder that cannot be created or written is refused before anything is compiled") {
  Sandbox sandbox;
  const std::string file = sandbox.file("file", "not a folder");
  fs::create_directory(sandbox.path("foreign"));
  sandbox.file("foreign/important.txt", "keep me");
  fs::create_directory(sandbox.path("closed"));
  fs::permissions(sandbox.path("closed"), fs::perms::owner_read | fs::perms::owner_exec);
  sandbox.unprivileged = true;
  const auto before = contents(sandbox.folder());
  for (const std::string& root : {file, file + "/below", sandbox.path("foreign"), sandbox.path("closed/cabinet")}) {
    const Outcome outcome = sandbox.run(with(warm_one_kernel, {"--cache", root}));
    INFO(root << ": " << outcome.err);
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.err.find(root) != std::string::npos);
    CHECK(object_of(outcome).contains("error"));
    CHECK(contents(sandbox.folder()) == before);
  }
}

TEST_CASE(
    "A cabinet that cannot be written is enough for a complete plan, and an error for one with a missing kernel") {
  Sandbox sandbox;
  sandbox.unprivileged = true;
  const Arguments here{"--cache", sandbox.path("cabinet")};
  REQUIRE(sandbox.run(with(warm_one_kernel, here)).exit_code == 0);
  set_writable(sandbox.path("cabinet"), false);
  const auto before = contents(sandbox.folder());

  const Outcome full = sandbox.run(with(warm_one_kernel, here));
  INFO(full.err);
  CHECK(full.exit_code == 0);
  CHECK(object_of(full).at("hits") == 1);
  CHECK(object_of(full).at("persist") == "readonly");
  CHECK(object_of(full).at("coverage") == "found");
  CHECK(object_of(full).at("coverage_problem") == "");

  const Outcome lacking = sandbox.run(with(warm_one_kernel, with(here, {"--shape", "256,128,2"})));
  CHECK(lacking.exit_code == 1);
  CHECK(lacking.err.find("1 of 2 kernels") != std::string::npos);
  CHECK(lacking.err.find("Permission denied") != std::string::npos);
  CHECK(lacking.err.find("--cache") != std::string::npos);
  CHECK(contents(sandbox.folder()) == before);
  set_writable(sandbox.path("cabinet"), true);
}

TEST_CASE("A warmup waits once for an index that another process holds, and says why it recorded nothing") {
  const Sandbox sandbox;
  const Arguments arguments = with(warm_one_kernel, {"--cache", sandbox.path("cabinet")});
  REQUIRE(sandbox.run(arguments).exit_code == 0);
  {
    const cubinet::test::IndexHolder holder(sandbox.path("cabinet/index.db"));
    const auto begin = std::chrono::steady_clock::now();
    const auto report = object_of(sandbox.run(arguments));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    constexpr double patience = 5;
    CHECK(seconds < 2 * patience);
    CHECK(report.at("seconds") >= patience);
    CHECK(report.at("seconds") <= seconds);
    check_unrecorded(sandbox, arguments, "is busy", "unknown", "complete, but the record of it cannot be read: ");
  }
  CHECK(object_of(sandbox.run(arguments)).at("coverage") == "found");
}

TEST_CASE("A read-only cabinet that holds all kernels and no record of it is complete, but not recorded") {
  Sandbox sandbox;
  sandbox.unprivileged = true;
  const std::string cabinet = sandbox.path("cabinet");
  REQUIRE(sandbox.run(with(warm_one_kernel, {"--cache", cabinet})).exit_code == 0);
  forget(cabinet);
  set_writable(cabinet, false);
  const auto before = contents(sandbox.folder());
  check_unrecorded(sandbox, with(warm_one_kernel, {"--cache", cabinet}), "is read-only: cannot write in " + cabinet);
  CHECK(contents(sandbox.folder()) == before);
  set_writable(cabinet, true);
}

TEST_CASE("With an index that cannot be written or replaced a warmup is complete, but not recorded") {
  Sandbox sandbox;
  sandbox.unprivileged = true;
  const std::string cabinet = sandbox.path("cabinet");
  REQUIRE(sandbox.run(with(warm_one_kernel, {"--cache", cabinet})).exit_code == 0);
  forget(cabinet);
  fs::create_directory(cabinet + "/index.db");
  set_writable(cabinet + "/quarantine", false);
  check_unrecorded(sandbox, with(warm_one_kernel, {"--cache", cabinet}), cabinet + "/index.db");
  set_writable(cabinet + "/quarantine", true);
}

TEST_CASE("A warmup as root leaves only files of the folder's owner in another user's folder") {
  if (geteuid() != 0) CUBINET_SKIP("must be root to work in another user's folder");
  Sandbox sandbox;
  fs::create_directory(sandbox.path("cabinet"));
  REQUIRE(chown(sandbox.path("cabinet").c_str(), nobody, nobody) == 0);
  const Arguments arguments = with(warm_one_kernel, {"--cache", sandbox.path("cabinet")});
  REQUIRE(sandbox.run(arguments).exit_code == 0);
  sandbox.unprivileged = true;
  CHECK(object_of(sandbox.run(arguments)).at("coverage") == "found");
  const std::string key = object_of(sandbox.run({"cache", "ls", "--cache", sandbox.path("cabinet"), "--json"}))
                              .at("entries")
                              .at(0)
                              .at("key");
  CHECK(sandbox.run({"cache", "rm", key, "--cache", sandbox.path("cabinet")}).exit_code == 0);
  CHECK(object_of(sandbox.run(arguments)).at("stored") == 1);
}

TEST_CASE("Damaged entries that a warmup finds are counted once, and the quarantine folder is named") {
  const Sandbox sandbox;
  const Arguments two = with(warm_one_kernel, {"--shape", "256,128,2"});
  CHECK(object_of(sandbox.run(two)).at("damaged") == 0);
  const std::string cabinet = sandbox.path("home/.cache/cubinet");
  for (const auto& entry : fs::recursive_directory_iterator(cabinet + "/objects")) {
    if (entry.is_regular_file()) fs::resize_file(entry, 100);
  }
  const Outcome repaired = sandbox.run(two);
  CHECK(repaired.exit_code == 0);
  CHECK(object_of(repaired).at("damaged") == 2);
  CHECK(object_of(repaired).at("stored") == 2);
  CHECK(repaired.err.find("2 damaged entries were moved to " + cabinet + "/quarantine;") != std::string::npos);
  const Outcome again = sandbox.run(two);
  CHECK(object_of(again).at("damaged") == 0);
  CHECK(again.err.find("damaged") == std::string::npos);
}

TEST_CASE("An unreadable object is reported with the reason if it cannot be replaced") {
  Sandbox sandbox;
  sandbox.unprivileged = true;
  const std::string cabinet = sandbox.path("cabinet");
  const Arguments arguments = with(warm_one_kernel, {"--cache", cabinet});
  REQUIRE(sandbox.run(arguments).exit_code == 0);
  set_writable(cabinet, false);
  std::string object;
  for (const auto& entry : fs::recursive_directory_iterator(cabinet + "/objects")) {
    if (entry.is_regular_file()) object = entry.path();
  }
  REQUIRE_FALSE(object.empty());
  fs::permissions(object, fs::perms::none);
  const Outcome outcome = sandbox.run(arguments);
  INFO(outcome.err);
  CHECK(outcome.exit_code == 1);
  CHECK(outcome.err.find("1 of 1 kernels") != std::string::npos);
  CHECK(outcome.err.find("cannot open " + object + ": Permission denied") != std::string::npos);
  set_writable(cabinet, true);
}

TEST_CASE("A cabinet that is removed during a warmup ends it early, and is not created again") {
  const Sandbox sandbox;
  const std::string cabinet = sandbox.path("cabinet");
  const pid_t process = sandbox.start({"warmup", "--model", example_model("deepseek-v3"), "--jobs", "1",
                                       "--progress-file", "p", "--cache", cabinet, "--json"});
  REQUIRE(await_progress(sandbox, "p", [](const auto& object) { return object.at("current") != ""; }));
  fs::remove_all(cabinet);
  const Outcome outcome = sandbox.finish(process);
  INFO(outcome.err);
  CHECK(outcome.exit_code == 1);
  const auto report = object_of(outcome);
  CHECK(report.at("compiled") <= 2);
  CHECK(report.at("remaining") > 0);
  CHECK(report.at("persist_problem").get<std::string>().find(cabinet + " was removed") != std::string::npos);
  CHECK_FALSE(fs::exists(cabinet));
}

TEST_CASE("A cabinet at a dangling link is refused") {
  const Sandbox sandbox;
  fs::create_symlink(sandbox.path("absent"), sandbox.path("link"));
  const Outcome outcome = sandbox.run(with(warm_one_kernel, {"--cache", sandbox.path("link")}));
  CHECK(outcome.exit_code == 1);
  CHECK(outcome.err.find(sandbox.path("link") + " is a link to " + sandbox.path("absent")) != std::string::npos);
}

TEST_CASE("One note names a folder of CUBINET_NVRTC_DIR without an NVRTC, and none with --quiet") {
  Sandbox sandbox;
  sandbox.environment["CUBINET_NVRTC_DIR"] = sandbox.path("absent");
  const Outcome outcome = sandbox.run(warm_one_kernel);
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  const std::size_t note = outcome.err.find("without an NVRTC: " + sandbox.path("absent"));
  CHECK(note != std::string::npos);
  CHECK(outcome.err.find(sandbox.path("absent"), note + 30) == std::string::npos);
  CHECK(sandbox.run(with(warm_one_kernel, {"--shape", "256,128,2", "--quiet"})).err.empty());
}
