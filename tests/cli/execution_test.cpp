// Tests of warmup --execute, on machines with and without a GPU.
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "command.hpp"

namespace {

using namespace cubinet::cli;

// At least two kernels: a GEMM and the quantization.
const Arguments fp8_warmup{"warmup", "--shape", "128,128,2", "--layout", "masked", "--m-max", "8", "--dtype", "fp8"};

// A sandbox whose processes see no device.
struct SandboxWithoutDevice : Sandbox {
  SandboxWithoutDevice() { environment["CUDA_VISIBLE_DEVICES"] = "-1"; }
};

}  // namespace

TEST_CASE("Without a usable device every kernel is compiled and listed as not executed, with the driver's reason") {
  const SandboxWithoutDevice sandbox;
  const Outcome outcome = sandbox.run(with(fp8_warmup, {"--execute", "--json"}));
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  const auto report = object_of(outcome);
  CHECK(report.at("compiled") == report.at("unique_kernels"));
  CHECK(report.at("executed") == 0);
  CHECK(report.at("execution_failures").empty());
  CHECK(report.at("launches") == 0);
  CHECK(report.at("peak_device_bytes") == 0);
  CHECK(report.at("memory_budget") == 0);
  CHECK(report.at("device") == "");
  const auto& list = report.at("not_executed");
  REQUIRE(list.size() >= 2);
  REQUIRE(list.size() == report.at("unique_kernels"));
  Arguments plan = with(fp8_warmup, {"--json"});
  plan.front() = "plan";
  const auto kernels = object_of(sandbox.run(plan)).at("kernels");
  for (std::size_t i = 0; i < list.size(); ++i) {
    for (const char* field : {"key", "family", "n", "k"}) CHECK(list[i].at(field) == kernels.at(i).at(field));
    CHECK(list[i].at("config") == kernels.at(i).at("config").at("name"));
    CHECK(list[i].at("state") == "compiled, not executed");
    CHECK(list[i].at("reason").get<std::string>().find("CUDA driver") != std::string::npos);
  }
}

TEST_CASE(
    "Without a device and with all kernels compiled, the coverage record is found, and the progress counts all "
    "kernels") {
  const SandboxWithoutDevice sandbox;
  const auto first = object_of(sandbox.run(with(fp8_warmup, {"--execute", "--json"})));
  CHECK(first.at("coverage") == "recorded");
  for (int i = 0; i < 2; ++i) {
    const Outcome again = sandbox.run(with(fp8_warmup, {"--execute", "--json", "--progress-file", "p"}));
    CHECK(again.exit_code == 0);
    const auto report = object_of(again);
    CHECK(report.at("coverage") == "found");
    CHECK(report.at("hits") == first.at("unique_kernels"));
    CHECK(report.at("not_executed").size() == first.at("unique_kernels"));
    const auto progress = progress_of(sandbox, "p");
    CHECK(progress.at("state") == "done");
    CHECK(progress.at("done") == first.at("unique_kernels"));
    CHECK(progress.at("total") == first.at("unique_kernels"));
  }
  CHECK(sandbox.run(with(fp8_warmup, {"--execute"})).out.find("\n0 of ") != std::string::npos);
}

TEST_CASE("With --strict a kernel that is not executed is exit code 1, with the same report") {
  const SandboxWithoutDevice sandbox;
  const Outcome outcome =
      sandbox.run(with(fp8_warmup, {"--execute", "--strict", "--memory-budget", "64 MiB", "--json"}));
  CHECK(outcome.exit_code == 1);
  CHECK(object_of(outcome).at("not_executed").size() == object_of(outcome).at("unique_kernels"));
  CHECK(object_of(outcome).at("memory_budget") == 64 << 20);
  CHECK(object_of(outcome).at("failed") == 0);
}

TEST_CASE("The text report prints each reason for not executing once, and names each kernel") {
  const SandboxWithoutDevice sandbox;
  const Outcome outcome = sandbox.run(with(fp8_warmup, {"--execute"}));
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out.find("\n0 of ") != std::string::npos);
  CHECK(outcome.out.find(" kernels executed, 0 failed, ") != std::string::npos);
  const std::size_t why = outcome.out.find("\ncompiled, not executed: ");
  REQUIRE(why != std::string::npos);
  CHECK(outcome.out.find("not executed: ", why + 20) == std::string::npos);
  CHECK(outcome.out.find(" fp8_quantization\n", why) != std::string::npos);
  CHECK(outcome.out.find(" fp8_grouped_masked N=128 K=128 ") != std::string::npos);
}

TEST_CASE("Whatever the machine has, each kernel is executed or listed") {
  const Sandbox sandbox;
  const auto report = object_of(sandbox.run(with(fp8_warmup, {"--execute", "--json"})));
  CHECK(report.at("executed").get<std::size_t>() + report.at("execution_failures").size() +
            report.at("not_executed").size() ==
        report.at("unique_kernels"));
  CHECK(report.at("peak_device_bytes") <= report.at("memory_budget"));
}

TEST_CASE("Options of an execution without --execute, and a wrong budget, are refused by name") {
  const Sandbox sandbox;
  const auto refused = [&](const Arguments& more, const std::string& named) {
    const auto before = contents(sandbox.folder());
    const Outcome outcome = sandbox.run(with(fp8_warmup, more));
    INFO(outcome.err);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.err.find("cubinet: error: ") == 0);
    CHECK(outcome.err.find(named) != std::string::npos);
    CHECK(contents(sandbox.folder()) == before);
  };
  refused({"--memory-budget", "2GiB"}, "--memory-budget requires --execute");
  refused({"--strict"}, "--strict requires --execute");
  const auto size_is = [&](const std::string& size, const std::string& what) {
    refused({"--execute", "--memory-budget", size}, "--memory-budget: '" + size + "' " + what);
  };
  for (const char* size : {"banana", "-1", "", "2 XiB", "1e9"}) size_is(size, "is not a size");
  for (const char* size : {"99999999999999999999", "99999999999999GiB", "8388608TiB"}) size_is(size, "is too large");
  for (const char* size : {"0", "0GiB", "0.5", "0.0001 KiB"}) size_is(size, "leaves no memory");
}
