#include <filesystem>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "command.hpp"

namespace {

using namespace cubinet::cli;

nlohmann::json check_of(const nlohmann::json& report, const std::string& name) {
  for (const auto& check : report.at("checks")) {
    if (check.at("name") == name) return check;
  }
  FAIL("no check " << name);
  return {};
}

}  // namespace

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

TEST_CASE("doctor fails where warmup could not store, and says what mends it") {
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
    CHECK(check_of(report, "cache").at("mend").get<std::string>().find("--cache") != std::string::npos);
  }
}
