#include <filesystem>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "command.hpp"

using namespace cubinet::cli;

TEST_CASE("doctor names what it found, compiles a probe, and writes nothing") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run({"doctor", "--json"});
  INFO(outcome.out);
  REQUIRE(outcome.exit_code == 0);
  const auto report = object_of(outcome);
  CHECK(report.at("warmup") == true);
  CHECK(check_of(report, "NVRTC").at("found").get<std::string>().find("libnvrtc") != std::string::npos);
  CHECK(check_of(report, "probe compile").at("state") == "ok");
  CHECK(check_of(report, "cache").at("found").get<std::string>().find(sandbox.path("home")) != std::string::npos);
  const bool runs = check_of(report, "device").at("state") == "ok";
  CHECK(report.at("run") == runs);
  for (const auto& check : report.at("checks")) {
    if (check.at("name") == "driver" && check.at("state") != "ok")
      CHECK_FALSE(check.at("mend").get<std::string>().empty());
  }
  CHECK(contents(sandbox.folder()).empty());
}

TEST_CASE("doctor says that a folder named for NVRTC contains none, and finds another") {
  Sandbox sandbox;
  sandbox.environment["CUBINET_NVRTC_DIR"] = sandbox.path("nonexistent");
  const Outcome outcome = sandbox.run({"doctor", "--json"});
  CHECK(outcome.exit_code == 0);
  const auto nvrtc = check_of(object_of(outcome), "NVRTC");
  CHECK(nvrtc.at("state") == "ok");
  CHECK(nvrtc.at("note").get<std::string>().find(sandbox.path("nonexistent")) != std::string::npos);
  const Outcome text = sandbox.run({"doctor"});
  CHECK(text.out.find("note: named by CUBINET_NVRTC_DIR") != std::string::npos);

  const std::string library = nvrtc.at("found").get<std::string>();
  const std::string file = library.substr(library.find('/'));
  sandbox.environment["CUBINET_NVRTC_DIR"] = std::filesystem::path(file).parent_path().string();
  CHECK(check_of(object_of(sandbox.run({"doctor", "--json"})), "NVRTC").at("note") == "");
}

TEST_CASE("doctor prints the loader's error of a library that cannot be loaded, and finds another") {
  Sandbox sandbox;
  const std::string broken = sandbox.file("libnvrtc.so.13", "no library");
  sandbox.environment["CUBINET_NVRTC_DIR"] = sandbox.folder().string();
  const auto nvrtc = check_of(object_of(sandbox.run({"doctor", "--json"})), "NVRTC");
  CHECK(nvrtc.at("state") == "ok");
  CHECK(nvrtc.at("note").get<std::string>().find("not usable (" + broken + ": ") != std::string::npos);
}

TEST_CASE("doctor prints each advice once, and the absolute path of the cache") {
  const Sandbox sandbox;
  const auto report = object_of(sandbox.run({"doctor", "--cache", "here", "--json"}));
  CHECK(check_of(report, "cache").at("found").get<std::string>().find(sandbox.path("here")) == 0);
  const auto driver = check_of(report, "driver");
  if (driver.at("state") != "ok") {
    CHECK(driver.at("found").get<std::string>().find("install") == std::string::npos);
    CHECK(driver.at("mend").get<std::string>().find("install") != std::string::npos);
  }
}

TEST_CASE("doctor fails if a warmup could not store kernels, and says what to do") {
  Sandbox sandbox;
  sandbox.unprivileged = true;
  std::filesystem::create_directory(sandbox.path("closed"));
  std::filesystem::permissions(sandbox.path("closed"),
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const std::string file = sandbox.file("file", "not a folder");
  for (const std::string& root : {sandbox.path("closed/cabinet"), file, file + "/below"}) {
    const Outcome outcome = sandbox.run({"doctor", "--cache", root, "--json"});
    INFO(outcome.out);
    CHECK(outcome.exit_code == 1);
    const auto report = object_of(outcome);
    CHECK(report.at("warmup") == false);
    CHECK(check_of(report, "cache").at("state") == "failed");
    CHECK(sandbox.run({"doctor", "--cache", root}).out.find("Warmup does not work here. Kernels can") !=
          std::string::npos);
    CHECK(check_of(report, "cache").at("mend").get<std::string>().find("--cache") != std::string::npos);
  }
}
