// Tests of warming through the C interface, with the real NVRTC.
#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "cli/command.hpp"
#include "unit/capi/support.hpp"

namespace {

using namespace cubinet::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

// Records the calls of the progress function. Call number `stop_at` (from 1) stops the warmup; 0: none does.
struct ProgressRecorder {
  struct Call {
    std::string phase;
    std::int64_t done = 0;
    std::int64_t total = 0;
    bool operator==(const Call&) const = default;
  };
  std::vector<Call> calls;
  std::size_t stop_at = 0;

  static int record(void* user, const char* phase, std::int64_t done, std::int64_t total) {
    auto& self = *static_cast<ProgressRecorder*>(user);
    self.calls.push_back({phase, done, total});
    return self.calls.size() == self.stop_at ? 1 : 0;
  }
  [[nodiscard]] cubinet_warmup_options options() {
    cubinet_warmup_options options = CUBINET_WARMUP_OPTIONS_INIT;
    options.progress = record;
    options.user = this;
    return options;
  }
};

std::set<std::string> fields(const nlohmann::json& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.items()) names.insert(name);
  return names;
}

// Only one thread compiles, so that kernels finish one by one.
const std::vector<cubinet_problem> three{small_problem(128), small_problem(256), small_problem(384)};
cubinet_request request_of_three() { return small_request(three.data(), three.size()); }

}  // namespace

TEST_CASE("A warmup into an empty folder compiles, and a second one finds every kernel") {
  RootOptions options;
  const cubinet_problem problem = small_problem();
  const cubinet_request request = small_request(&problem, 1);
  GivenText first;
  REQUIRE(cubinet_warmup(options.get(), &request, nullptr, first.where()) == CUBINET_OK);
  CHECK(first.object().at("unique_kernels") == 1);
  CHECK(first.object().at("compiled") == 1);
  CHECK(first.object().at("stored") == 1);
  CHECK(first.object().at("coverage") == "recorded");
  CHECK(first.object().at("cache") == options.root());

  ProgressRecorder listener;
  const cubinet_warmup_options told = listener.options();
  GivenText second;
  REQUIRE(cubinet_warmup(options.get(), &request, &told, second.where()) == CUBINET_OK);
  CHECK(second.object().at("compiled") == 0);
  CHECK(second.object().at("hits") == 1);
  CHECK(second.object().at("coverage") == "found");
  CHECK(listener.calls == std::vector<ProgressRecorder::Call>{{"compiling", 1, 1}});
}

TEST_CASE("The command finds the kernels of a warmup, and the reports have the same fields") {
  RootOptions options;
  const cubinet_problem problem = small_problem();
  const cubinet_request request = small_request(&problem, 1);
  GivenText json;
  REQUIRE(cubinet_warmup(options.get(), &request, nullptr, json.where()) == CUBINET_OK);
  const cubinet::cli::Sandbox sandbox;
  const auto printed =
      cubinet::cli::object_of(sandbox.run({"warmup", "--shape", "128,128,2", "--layout", "masked", "--m-max", "8",
                                           "--no-generic", "--json", "--cache", options.root()}));
  CHECK(printed.at("coverage") == "found");
  CHECK(fields(printed) == fields(json.object()));
}

TEST_CASE("A warmup accepts NULL for its report") {
  RootOptions options;
  const cubinet_problem problem = small_problem();
  const cubinet_request request = small_request(&problem, 1);
  REQUIRE(cubinet_warmup(options.get(), &request, nullptr, nullptr) == CUBINET_OK);
  CHECK(std::filesystem::exists(options.root() + "/FORMAT"));
}

TEST_CASE("The progress function is called for each kernel and can stop the warmup, and the next one does the rest") {
  RootOptions options;
  (*options).jobs = 1;
  const cubinet_request request = request_of_three();
  ProgressRecorder listener;
  listener.stop_at = 1;
  cubinet_warmup_options told = listener.options();
  GivenText cut;
  REQUIRE(cubinet_warmup(options.get(), &request, &told, cut.where()) == CUBINET_INCOMPLETE);
  CHECK(last_error() == "2 kernels not begun");
  CHECK(listener.calls == std::vector<ProgressRecorder::Call>{{"compiling", 1, 3}});
  CHECK(cut.object().at("compiled") == 1);
  CHECK(cut.object().at("remaining") == 2);
  CHECK(cut.object().at("coverage") == "none");

  ProgressRecorder patient;
  told = patient.options();
  GivenText whole;
  REQUIRE(cubinet_warmup(options.get(), &request, &told, whole.where()) == CUBINET_OK);
  CHECK(patient.calls ==
        std::vector<ProgressRecorder::Call>{{"compiling", 1, 3}, {"compiling", 2, 3}, {"compiling", 3, 3}});
  CHECK(whole.object().at("hits") == 1);
  CHECK(whole.object().at("compiled") == 2);
}

TEST_CASE("A progress function that stops the warmup at its last kernel changes nothing") {
  RootOptions options;
  const cubinet_problem problem = small_problem();
  const cubinet_request request = small_request(&problem, 1);
  ProgressRecorder listener;
  listener.stop_at = 1;
  const cubinet_warmup_options told = listener.options();
  CHECK(cubinet_warmup(options.get(), &request, &told, nullptr) == CUBINET_OK);
}

TEST_CASE("Kernels that cannot be executed are listed, and make a strict warmup incomplete") {
  RootOptions options;
  (*options).device = 1000;  // no machine has so many
  const cubinet_problem problem = small_problem();
  const cubinet_request request = small_request(&problem, 1);
  cubinet_warmup_options wanted = CUBINET_WARMUP_OPTIONS_INIT;
  wanted.execute = 1;
  GivenText lax;
  REQUIRE(cubinet_warmup(options.get(), &request, &wanted, lax.where()) == CUBINET_OK);
  CHECK(lax.object().at("executed") == 0);
  REQUIRE(lax.object().at("not_executed").size() == 1);
  CHECK(lax.object().at("not_executed")[0].at("state") == "compiled, not executed");
  wanted.strict = 1;
  GivenText strict;
  REQUIRE(cubinet_warmup(options.get(), &request, &wanted, strict.where()) == CUBINET_INCOMPLETE);
  CHECK(last_error() == strict.object().at("not_executed")[0].at("reason"));
}

TEST_CASE("Invalid options of a warmup are refused by name, and nothing is created") {
  RootOptions options;
  const cubinet_problem problem = small_problem();
  const cubinet_request request = small_request(&problem, 1);
  const auto refused = [&](const cubinet_warmup_options* wanted) {
    GivenText json;
    CHECK(cubinet_warmup(options.get(), &request, wanted, json.where()) == CUBINET_INVALID_ARGUMENT);
    CHECK_FALSE(json.there());
    CHECK_FALSE(std::filesystem::exists(options.root()));
    return last_error();
  };
  cubinet_warmup_options wanted = CUBINET_WARMUP_OPTIONS_INIT;
  wanted.size = 0;
  CHECK_THAT(refused(&wanted), Contains("warmup.size is 0"));
  wanted = CUBINET_WARMUP_OPTIONS_INIT;
  wanted.memory_budget = -1;
  CHECK_THAT(refused(&wanted), Contains("warmup.memory_budget: -1"));
  wanted.memory_budget = 1 << 30;
  CHECK_THAT(refused(&wanted), StartsWith("warmup.memory_budget requires warmup.execute"));
  wanted.memory_budget = 0;
  wanted.strict = 1;
  CHECK_THAT(refused(&wanted), StartsWith("warmup.strict requires warmup.execute"));
  (*options).jobs = -1;
  CHECK_THAT(refused(nullptr), Contains("options.jobs: -1"));
  (*options).jobs = 0;
  (*options).cache_max_entries = "many";
  CHECK_THAT(refused(nullptr), Contains("'many' is not a number of entries"));
  (*options).cache_max_entries = nullptr;
  (*options).cache_root = "";
  CHECK_THAT(refused(nullptr), Contains("no cache folder: give options.cache_root"));
}

TEST_CASE("A folder that is not a cabinet is refused and not changed") {
  RootOptions options;
  std::filesystem::create_directory(options.root());
  write_file(options.root() + "/other", "text");
  const cubinet_problem problem = small_problem();
  const cubinet_request request = small_request(&problem, 1);
  GivenText json;
  CHECK(cubinet_warmup(options.get(), &request, nullptr, json.where()) == CUBINET_CACHE_UNUSABLE);
  CHECK_FALSE(json.there());
  CHECK(count_files(options.root()) == 1);
}

TEST_CASE("Two threads that warm one root at once share the work") {
  RootOptions options;
  (*options).jobs = 1;
  const cubinet_request request = request_of_three();
  GivenText texts[2];
  cubinet_status statuses[2] = {-1, -1};
  const auto warm = [&](int i) { statuses[i] = cubinet_warmup(options.get(), &request, nullptr, texts[i].where()); };
  std::thread other(warm, 1);
  warm(0);
  other.join();
  REQUIRE(statuses[0] == CUBINET_OK);
  REQUIRE(statuses[1] == CUBINET_OK);
  const auto sum = [&](const char* field) {
    return texts[0].object().at(field).get<int>() + texts[1].object().at(field).get<int>();
  };
  CHECK(sum("compiled") == 3);
  CHECK(sum("hits") == 3);
}
