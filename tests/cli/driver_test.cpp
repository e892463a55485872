// Tests of the command with a driver that is too old, or with a toolkit's stub instead of a driver.
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "command.hpp"

namespace {

using namespace cubinet::cli;
namespace fs = std::filesystem;

const Arguments executed_warmup{"warmup",  "--shape", "128,128,2",    "--layout", "masked",
                                "--m-max", "8",       "--no-generic", "--quiet",  "--execute"};

struct SandboxWithDriver : Sandbox {
  SandboxWithDriver() { environment["LD_LIBRARY_PATH"] = CUBINET_FAKE_LIBCUDA_DIR; }
};

}  // namespace

TEST_CASE("doctor names the driver's file and version, and what a link leads to") {
  Sandbox sandbox;
  fs::create_symlink(CUBINET_FAKE_LIBCUDA_DIR "/libcuda.so.1", sandbox.path("libcuda.so.1"));
  sandbox.environment["LD_LIBRARY_PATH"] = sandbox.folder().string();
  const Outcome outcome = sandbox.run({"doctor", "--json"});
  INFO(outcome.out);
  CHECK(outcome.exit_code == 0);
  const auto report = object_of(outcome);
  CHECK(report.at("run") == true);
  CHECK(check_of(report, "driver").at("found") == "CUDA 13.0, from " + sandbox.path("libcuda.so.1") + " (a link to " +
                                                      fs::canonical(CUBINET_FAKE_LIBCUDA_DIR "/libcuda.so.1").string() +
                                                      ")");
}

TEST_CASE("doctor fails if the driver is too old for NVRTC's kernels, and names an NVRTC that fits") {
  SandboxWithDriver sandbox;
  sandbox.environment["FAKE_CUDA_VERSION"] = "12040";
  const Outcome outcome = sandbox.run({"doctor", "--json"});
  INFO(outcome.out);
  CHECK(outcome.exit_code == 1);
  const auto report = object_of(outcome);
  CHECK(report.at("warmup") == true);
  CHECK(report.at("run") == false);
  const auto driver = check_of(report, "driver");
  CHECK(driver.at("state") == "failed");
  CHECK(holds(driver.at("found"), "CUDA 12.4, from " CUBINET_FAKE_LIBCUDA_DIR));
  CHECK(holds(driver.at("mend"), "nvidia-cuda-nvrtc-cu12==12.9.86"));
  CHECK(sandbox.run({"doctor"}).out.find("Warmup works here. Kernels cannot be run here") != std::string::npos);
}

TEST_CASE("A warmup with --execute fails if the driver is too old, and says what to do") {
  SandboxWithDriver sandbox;
  sandbox.environment["FAKE_CUDA_VERSION"] = "12040";
  sandbox.environment["FAKE_CUDA_LOAD"] = "200";
  for (int i = 0; i < 2; ++i) {  // the second run finds all kernels compiled
    const Outcome outcome = sandbox.run(with(executed_warmup, {"--json", "--progress-file", "p"}));
    INFO(outcome.out << outcome.err);
    CHECK(outcome.exit_code == 1);
    const auto report = object_of(outcome);
    CHECK(report.at("executed") == 0);
    REQUIRE_FALSE(report.at("execution_failures").empty());
    CHECK(holds(report.at("execution_failures")[0].at("message"), "is too old: it is for CUDA 12.4"));
    CHECK(outcome.err.find("nvidia-cuda-nvrtc-cu12==12.9.86") != std::string::npos);
    const auto progress = progress_of(sandbox, "p");
    CHECK(progress.at("state") == "failed");
    CHECK(holds(progress.at("message"), "is too old"));
  }
}

TEST_CASE("doctor names a file in place of the driver that is not a library") {
  Sandbox sandbox;
  const std::string folder = sandbox.path("driver");
  std::filesystem::create_directory(folder);
  for (const char* name : {"/libcuda.so.1", "/libcuda.so"}) std::ofstream(folder + name).close();
  sandbox.environment["LD_LIBRARY_PATH"] = folder;
  const Outcome outcome = sandbox.run({"doctor"});
  CHECK(holds(outcome.out, folder + "/libcuda.so.1: file too short"));
}

TEST_CASE("doctor and a warmup with --execute name a toolkit's stub in place of the driver") {
  SandboxWithDriver sandbox;
  sandbox.environment["FAKE_CUDA_INIT"] = "34";
  const std::string stub = CUBINET_FAKE_LIBCUDA_DIR "/libcuda.so.1 is the stub of a CUDA toolkit";
  const auto driver = check_of(object_of(sandbox.run({"doctor", "--json"})), "driver");
  CHECK(driver.at("state") == "absent");
  CHECK(holds(driver.at("found"), stub));
  CHECK(holds(driver.at("mend"), "LD_LIBRARY_PATH"));
  const auto report = object_of(sandbox.run(with(executed_warmup, {"--json"})));
  REQUIRE_FALSE(report.at("not_executed").empty());
  CHECK(holds(report.at("not_executed")[0].at("reason"), stub));
}
