// Tests of warmups with little memory, with the real NVRTC: in a control group, and with limits of the process.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "command.hpp"
#include "soft_limit.hpp"
#include "util/machine.hpp"

namespace {

using namespace cubinet::cli;
namespace fs = std::filesystem;
namespace util = cubinet::util;

constexpr std::int64_t mib = std::int64_t{1} << 20;

const Arguments both_types{"warmup", "--model", example_model("deepseek-v3"), "--ep", "8", "--dtype", "bf16,fp8"};

bool write(const fs::path& file, const std::string& text) {
  std::ofstream stream(file);
  stream << text;
  stream.close();
  return !stream.fail();
}

// A control group of version 1 or 2 with a memory limit. While the object lives, the test's process and its children
// are in it.
class LimitedGroup {
 public:
  // nullopt if no such group can be created.
  static std::optional<LimitedGroup> make(std::int64_t bytes) {
    for (const auto& [hierarchy, limit] : {std::pair{"memory", "memory.limit_in_bytes"}, {"", "memory.max"}}) {
      const fs::path outer = util::group_folders(hierarchy).front();
      const fs::path inner = outer / ("cubinet-test-" + std::to_string(getpid()));
      std::error_code trouble;
      if (!fs::create_directory(inner, trouble)) continue;
      if (fs::exists(inner / limit) && write(inner / limit, std::to_string(bytes)) && enter(inner)) {
        return LimitedGroup(outer, inner);
      }
      fs::remove(inner, trouble);
    }
    return std::nullopt;
  }
  LimitedGroup(LimitedGroup&& other) noexcept : outer_(other.outer_), inner_(std::exchange(other.inner_, {})) {}
  LimitedGroup& operator=(LimitedGroup&&) = delete;
  ~LimitedGroup() {
    if (inner_.empty()) return;
    enter(outer_);
    std::error_code ignored;
    fs::remove(inner_, ignored);
  }

 private:
  LimitedGroup(fs::path outer, fs::path inner) : outer_(std::move(outer)), inner_(std::move(inner)) {}
  static bool enter(const fs::path& group) { return write(group / "cgroup.procs", std::to_string(getpid())); }

  fs::path outer_;
  fs::path inner_;
};

void check_whole(const Outcome& outcome, std::int64_t limit) {
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  const auto report = object_of(outcome);
  CHECK(report.at("compiled") == report.at("unique_kernels"));
  CHECK(report.at("compiled") > 10);
  CHECK(report.at("host_peak_bytes") < limit);
}

}  // namespace

TEST_CASE("The report says how many jobs there were and why, and how much memory was measured") {
  const Sandbox sandbox;
  const Arguments two{"warmup", "--shape", "128,128,2", "256,128,2",    "--layout",
                      "masked", "--m-max", "8",         "--no-generic", "--json"};
  const auto given = object_of(sandbox.run(with(two, {"--jobs", "2"})));
  CHECK(given.at("jobs") == 2);
  CHECK(given.at("jobs_reason") == "given");
  CHECK(given.at("host_peak_bytes") > 16 * mib);
  CHECK(given.at("host_bytes_per_job") > mib);
  CHECK(given.at("host_bytes_per_job") < given.at("host_peak_bytes"));
  const auto chosen = object_of(sandbox.run(two));
  CHECK(chosen.at("jobs") <= util::usable_cores());
  CHECK(chosen.at("jobs_reason") != "given");
  CHECK(chosen.at("host_bytes_per_job") == 0);
}

TEST_CASE("A warmup inside a control group of 1 GiB compiles every kernel of a model in both types") {
#ifdef CUBINET_ADDRESS_SANITIZER
  CUBINET_SKIP("the address sanitizer keeps what is freed, in each worker");
#endif
  const auto group = LimitedGroup::make(1024 * mib);
  if (!group) CUBINET_SKIP("no control group with a memory limit can be made here");
  const Sandbox sandbox;
  check_whole(sandbox.run(with(both_types, {"--json"})), 1024 * mib);
}

TEST_CASE("A small control group lowers the jobs below the cores, and the limit is named") {
#ifdef CUBINET_ADDRESS_SANITIZER
  CUBINET_SKIP("the address sanitizer takes more than any such limit");
#endif
  if (util::usable_cores() < 2) CUBINET_SKIP("one core, one job");
  const auto group = LimitedGroup::make(192 * mib);
  if (!group) CUBINET_SKIP("no control group with a memory limit can be made here");
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run(with(both_types, {"--json"}));
  check_whole(outcome, 192 * mib);
  CHECK(object_of(outcome).at("jobs") == 1);
  CHECK(object_of(outcome).at("jobs_reason") == "memory");
  CHECK(outcome.err.find("cubinet-test-" + std::to_string(getpid())) != std::string::npos);
  CHECK(sandbox.run(with(both_types, {"--quiet"})).err.empty());
}

TEST_CASE("A warmup inside 1 GiB of address space or of data compiles every kernel of a model in both types") {
#ifdef CUBINET_ADDRESS_SANITIZER
  CUBINET_SKIP("the address sanitizer maps more than any such limit");
#endif
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    const Sandbox sandbox;
    const SoftLimit limit(resource, 1024 * mib);
    check_whole(sandbox.run(with(both_types, {"--json"})), 1024 * mib);
  }
}

namespace {

// Three kernels, the largest ones among them.
const Arguments three{"warmup", "--shape", "4096,7168,32", "--m-max", "512", "--dtype", "bf16", "--json"};

nlohmann::json refusal_of(const Outcome& outcome) {
  INFO(outcome.err);
  CHECK(outcome.exit_code == 1);
  return object_of(outcome).at("error");
}

}  // namespace

TEST_CASE("If a limit leaves too little memory for one job, nothing is started, and need, rest and limit are named") {
#ifdef CUBINET_ADDRESS_SANITIZER
  CUBINET_SKIP("the address sanitizer maps more than any such limit");
#endif
  for (const auto& [resource, name] : {std::pair{RLIMIT_AS, "Max address space"}, {RLIMIT_DATA, "Max data size"}}) {
    const Sandbox sandbox;
    const SoftLimit limit(resource, (resource == RLIMIT_AS ? 180 : 70) * mib);
    const Outcome outcome = sandbox.run(three);
    const auto error = refusal_of(outcome);
    CHECK(error.at("code") == "out_of_memory");
    CHECK(error.at("message").get<std::string>().find(name) != std::string::npos);
    CHECK(contents(sandbox.folder()).empty());
  }
}

TEST_CASE("A control group too small for one job is refused before the kernel ends the process") {
#ifdef CUBINET_ADDRESS_SANITIZER
  CUBINET_SKIP("the address sanitizer takes more than any such limit");
#endif
  const auto group = LimitedGroup::make(56 * mib);
  if (!group) CUBINET_SKIP("no control group with a memory limit can be made here");
  const Sandbox sandbox;
  const auto error = refusal_of(sandbox.run(three));
  CHECK(error.at("code") == "out_of_memory");
  CHECK(error.at("message").get<std::string>().find("cubinet-test-" + std::to_string(getpid())) != std::string::npos);
}

TEST_CASE("A warmup that has nothing to compile needs no memory for it") {
#ifdef CUBINET_ADDRESS_SANITIZER
  CUBINET_SKIP("the address sanitizer maps more than any such limit");
#endif
  const Sandbox sandbox;
  const Arguments small{"warmup", "--shape", "128,128,2", "--m-max", "8", "--layout", "masked", "--no-generic"};
  REQUIRE(sandbox.run(small).exit_code == 0);
  const SoftLimit limit(RLIMIT_AS, 180 * mib);
  CHECK(sandbox.run(small).exit_code == 0);
}

TEST_CASE(
    "A given number of jobs overrides the refusal with a note, and an NVRTC that cannot be mapped is not called "
    "missing") {
#ifdef CUBINET_ADDRESS_SANITIZER
  CUBINET_SKIP("the address sanitizer maps more than any such limit");
#endif
  const Sandbox sandbox;
  const SoftLimit limit(RLIMIT_AS, 100 * mib);
  const Outcome outcome = sandbox.run(with(three, {"--jobs", "1"}));
  const auto error = refusal_of(outcome);
  CHECK(error.at("code") == "out_of_memory");
  CHECK(error.at("message").get<std::string>().find("NVRTC exists, but could not be loaded: /") != std::string::npos);
  CHECK(outcome.err.find("continuing because of --jobs") != std::string::npos);
  const Outcome plan = sandbox.run({"plan", "--shape", "128,128,2", "--json"});
  CHECK(plan.exit_code == 0);
  CHECK(plan.err.empty());  // `plan` does not open NVRTC
  const Outcome doctor = sandbox.run({"doctor", "--json"});
  CHECK(doctor.exit_code == 1);
  CHECK(object_of(doctor).at("warmup") == false);
}

TEST_CASE("One job compiles within 290 MiB of address space beside other threads") {
#ifdef CUBINET_ADDRESS_SANITIZER
  CUBINET_SKIP("the address sanitizer maps more than any such limit");
#endif
  const Sandbox sandbox;
  const SoftLimit limit(RLIMIT_AS, 290 * mib);
  const Outcome outcome = sandbox.run(with(three, {"--progress-file", sandbox.path("progress")}));
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK(object_of(outcome).at("jobs") == 1);
}
