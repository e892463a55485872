// Tests of structs with a size field, of statuses, and of a thread's last error.
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "cubinet/cubinet.h"
#include "cubinet/cubinet.hpp"
#include "unit/capi/support.hpp"

using cubinet::test::last_error;

namespace {

// A struct of a caller that knows more fields than the library: `extra` follows the known ones.
template <class Struct>
std::vector<unsigned char> longer(Struct known, unsigned char extra) {
  known.size = sizeof(Struct) + 8;
  std::vector<unsigned char> bytes(known.size, 0);
  std::memcpy(bytes.data(), &known, sizeof(Struct));
  bytes.back() = extra;
  return bytes;
}

}  // namespace

TEST_CASE("A status has the name of its error code") {
  CHECK(std::string(cubinet_status_name(CUBINET_OK)) == "ok");
  CHECK(std::string(cubinet_status_name(CUBINET_INVALID_ARGUMENT)) == "invalid_argument");
  CHECK(std::string(cubinet_status_name(CUBINET_CAPTURING)) == "capturing");
  CHECK(std::string(cubinet_status_name(CUBINET_OUT_OF_MEMORY)) == "out_of_memory");
  CHECK(std::string(cubinet_status_name(CUBINET_INCOMPLETE)) == "incomplete");
  CHECK(std::string(cubinet_status_name(999)) == "unknown");
  CHECK(std::string(cubinet_status_name(-1)) == "unknown");
}

TEST_CASE("Types and layouts have names, and other numbers have none") {
  CHECK(std::string(cubinet_dtype_name(CUBINET_BF16)) == "bf16");
  CHECK(std::string(cubinet_dtype_name(CUBINET_FP8)) == "fp8");
  CHECK(std::string(cubinet_layout_name(CUBINET_CONTIGUOUS)) == "contiguous");
  CHECK(std::string(cubinet_layout_name(CUBINET_MASKED)) == "masked");
  CHECK(cubinet_dtype_name(2) == nullptr);
  CHECK(cubinet_dtype_name(-1) == nullptr);
  CHECK(cubinet_layout_name(2) == nullptr);
}

TEST_CASE("A struct without its size is refused by its name") {
  cubinet_options options{};
  cubinet_service* service = nullptr;
  REQUIRE(cubinet_open(&options, &service) == CUBINET_INVALID_ARGUMENT);
  CHECK_THAT(last_error(), Catch::Matchers::Contains("options.size is 0"));
  CHECK(service == nullptr);
}

TEST_CASE("A struct with fields that the library does not know is accepted only if they are zero") {
  cubinet_options known = CUBINET_OPTIONS_INIT;
  known.miss = 7;  // an invalid value, so that the call is refused after the size check
  cubinet_service* service = nullptr;
  const auto same = longer(known, 0);
  REQUIRE(cubinet_open(reinterpret_cast<const cubinet_options*>(same.data()), &service) == CUBINET_INVALID_ARGUMENT);
  CHECK_THAT(last_error(), Catch::Matchers::Contains("options.miss: 7"));
  const auto more = longer(known, 1);
  REQUIRE(cubinet_open(reinterpret_cast<const cubinet_options*>(more.data()), &service) == CUBINET_UNSUPPORTED);
  CHECK_THAT(last_error(), Catch::Matchers::Contains("options has fields that this library"));
}

TEST_CASE("The latest fields of a request count as zero for a caller whose struct lacks them") {
  cubinet_request request = CUBINET_REQUEST_INIT;
  request.generic_only = 1;
  request.size = offsetof(cubinet_request, redundant_experts);
  request.redundant_experts = 7;  // beyond what the caller has
  char* json = nullptr;
  CHECK(cubinet_plan(nullptr, &request, &json) == CUBINET_OK);
  cubinet_free(json);
  request.size -= 1;
  CHECK(cubinet_plan(nullptr, &request, &json) == CUBINET_INVALID_ARGUMENT);
  CHECK_THAT(last_error(), Catch::Matchers::Contains("request.size is"));
}

TEST_CASE("All elements of an array of problems have the size of the first, and errors name the element") {
  cubinet_problem good = CUBINET_PROBLEM_INIT;
  cubinet_problem bad = CUBINET_PROBLEM_INIT;
  bad.layout = 5;
  auto both = longer(good, 0);
  const auto second = longer(bad, 0);
  both.insert(both.end(), second.begin(), second.end());
  cubinet_service* service = nullptr;
  cubinet_gemm* gemms[2] = {};
  REQUIRE(cubinet_start(nullptr, reinterpret_cast<const cubinet_problem*>(both.data()), 2, &service, gemms, nullptr) ==
          CUBINET_INVALID_ARGUMENT);
  CHECK_THAT(last_error(), Catch::Matchers::Contains("problems[1].layout: 5"));
}

TEST_CASE("A NULL for a required argument is refused by the argument's name") {
  cubinet_service* service = nullptr;
  cubinet_problem problem = CUBINET_PROBLEM_INIT;
  CHECK(cubinet_open(nullptr, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK(last_error() == "service is NULL");
  CHECK(cubinet_start(nullptr, &problem, 1, &service, nullptr, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK(last_error() == "gemms is NULL");
  CHECK(cubinet_start(nullptr, nullptr, 1, &service, nullptr, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK(cubinet_prepare(nullptr, nullptr, 0, nullptr, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK(last_error() == "service is NULL");
  cubinet_contiguous_args args = CUBINET_CONTIGUOUS_ARGS_INIT;
  CHECK(cubinet_launch_bf16_grouped_contiguous(nullptr, &args, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK(last_error() == "gemm is NULL");
  CHECK(cubinet_background(nullptr, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK(cubinet_quantize_rows(nullptr, nullptr, 0, 0, nullptr, nullptr, nullptr) == CUBINET_INVALID_ARGUMENT);
  const char* layers[] = {"a", nullptr};
  cubinet_options options = CUBINET_OPTIONS_INIT;
  options.layers = layers;
  options.layer_count = 2;
  CHECK(cubinet_open(&options, &service) == CUBINET_INVALID_ARGUMENT);
  CHECK(last_error() == "options.layers[1] is NULL");
}

TEST_CASE("An invalid limit of the cabinet is refused by the field's name") {
  cubinet_options options = CUBINET_OPTIONS_INIT;
  options.cache_max_size = "4 apples";
  cubinet_service* service = nullptr;
  CHECK(cubinet_open(&options, &service) == CUBINET_INVALID_ARGUMENT);
  CHECK_THAT(last_error(), Catch::Matchers::StartsWith("options.cache_max_size: '4 apples'"));
  options.cache_max_size = "4GiB";
  options.cache_max_entries = "-1";
  CHECK(cubinet_warmup(&options, nullptr, nullptr, nullptr) == CUBINET_INVALID_ARGUMENT);
  CHECK_THAT(last_error(), Catch::Matchers::StartsWith("options.cache_max_entries: '-1'"));
}

TEST_CASE("Releasing NULL does nothing") {
  cubinet_close(nullptr);
  cubinet_gemm_release(nullptr);
  cubinet_quantizer_release(nullptr);
  cubinet_free(nullptr);
}

TEST_CASE("Each thread has its own last error") {
  REQUIRE(cubinet_open(nullptr, nullptr) == CUBINET_INVALID_ARGUMENT);
  std::string other = "unset";
  std::thread([&] { other = last_error(); }).join();
  CHECK(other.empty());
  CHECK(last_error() == "service is NULL");
}

TEST_CASE("The constants of the C interface equal those of the C++ one") {
  CHECK(cubinet_contiguous_alignment() == cubinet::contiguous_alignment());
  CHECK(cubinet_scale_workspace_bytes(3, 5, 256) == cubinet::scale_workspace_bytes(3, 5, 256));
}

TEST_CASE("The workspace of an invalid size has -1 bytes") {
  const std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  CHECK(cubinet_scale_workspace_bytes(1, -1, 256) == -1);
  CHECK(cubinet_scale_workspace_bytes(1, largest, 256) == -1);
  CHECK(cubinet_scale_workspace_bytes(1, 4, largest) == -1);
  CHECK(cubinet_scale_workspace_bytes(largest, 4, 128) == -1);
  CHECK(cubinet_scale_workspace_bytes(std::int64_t{1} << 58, 4, 128) == std::int64_t{1} << 62);
  CHECK(cubinet_scale_workspace_bytes(0, 4, 128) == 0);
}

TEST_CASE("A reserved field that is not zero is refused") {
  cubinet_options options = CUBINET_OPTIONS_INIT;
  options.reserved = 5;
  cubinet_service* service = nullptr;
  CHECK(cubinet_open(&options, &service) == CUBINET_UNSUPPORTED);
  CHECK_THAT(last_error(), Catch::Matchers::Contains("options.reserved"));
}
