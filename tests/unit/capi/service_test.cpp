// Tests of opening and starting without a device.
#include <filesystem>
#include <string>

#include "catch.hpp"
#include "cubinet/cubinet.h"
#include "unit/capi/support.hpp"

using cubinet::test::has_driver;

TEST_CASE("Without a CUDA driver a start returns driver_missing and no handle") {
  if (has_driver()) CUBINET_SKIP("this machine has a CUDA driver");
  const cubinet::test::TempFolder folder;
  const std::string root = folder.path() / "root";
  cubinet_options options = CUBINET_OPTIONS_INIT;
  options.cache_root = root.c_str();
  cubinet_problem problem = CUBINET_PROBLEM_INIT;
  problem.n = 256;
  problem.k = 512;
  problem.groups = 4;
  cubinet_service* service = nullptr;
  cubinet_gemm* gemm = nullptr;
  cubinet_start_report report = CUBINET_START_REPORT_INIT;
  REQUIRE(cubinet_start(&options, &problem, 1, &service, &gemm, &report) == CUBINET_DRIVER_MISSING);
  CHECK(std::string(cubinet_last_error()).find("libcuda") != std::string::npos);
  CHECK(service == nullptr);
  CHECK(gemm == nullptr);
  CHECK(report.warning == nullptr);
  CHECK_FALSE(std::filesystem::exists(root));
}

TEST_CASE("A number of groups that does not fit into 32 bits is refused") {
  cubinet_problem problem = CUBINET_PROBLEM_INIT;
  problem.groups = (std::int64_t{1} << 32) + 4;
  cubinet_service* service = nullptr;
  cubinet_gemm* gemm = nullptr;
  REQUIRE(cubinet_start(nullptr, &problem, 1, &service, &gemm, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK(std::string(cubinet_last_error()) == "problems[0].groups: 4294967300 does not fit into 32 bits");
}

TEST_CASE("An uninitialized report is refused before any work") {
  cubinet_service* service = nullptr;
  cubinet_start_report report{};
  REQUIRE(cubinet_start(nullptr, nullptr, 0, &service, nullptr, &report) == CUBINET_INVALID_ARGUMENT);
  CHECK(std::string(cubinet_last_error()).find("report.size is 0") == 0);
}
