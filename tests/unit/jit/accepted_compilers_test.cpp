#include "jit/accepted_compilers.hpp"

#include <algorithm>
#include <set>

#include "catch.hpp"

using namespace cubinet;

namespace {

// As cuDriverGetVersion answers.
constexpr int kCuda12_4 = 12040;
constexpr int kCuda13_0 = 13000;

}  // namespace

TEST_CASE("The compilers that are accepted are exact builds, each once") {
  const auto& accepted = jit::accepted_compilers();
  CHECK((std::set<std::string>(accepted.begin(), accepted.end()).size() == accepted.size()));
  for (const std::string& version : accepted) {
    CHECK(std::count(version.begin(), version.end(), '.') == 2);
    CHECK(jit::is_accepted("NVRTC " + version));
  }
}

TEST_CASE("Builds of one minor version are told apart, and other texts are no compiler") {
  CHECK(jit::is_accepted("NVRTC 13.0.88"));
  CHECK(*jit::rank("NVRTC 13.0.88", 0) < *jit::rank("NVRTC 13.0.48", 0));
  for (const char* other : {"NVRTC 13.0", "NVRTC 13.0.8", "NVRTC 13.0.880", "13.0.88", "nvcc 13.0.88", ""}) {
    CHECK_FALSE(jit::is_accepted(other));
  }
}

TEST_CASE("The best build of each CUDA major version is what people are told to use") {
  CHECK(jit::preferred_text() == "13.0.88 or 12.9.86");
}

TEST_CASE("NVRTC 13.5, which spills up to 84 bytes, is not accepted, and serves as a last resort") {
  CHECK_FALSE(jit::is_accepted("NVRTC 13.5.37"));
  const auto last = jit::rank("NVRTC 13.5.37", 0);
  REQUIRE(last);
  for (const std::string& version : jit::accepted_compilers()) CHECK(*jit::rank("NVRTC " + version, 0) < *last);
  CHECK(jit::rank("", 0) == last);
}

TEST_CASE("A driver takes the cubins of its own CUDA major version and of earlier ones, whatever the minor one is") {
  CHECK(jit::rank("NVRTC 12.9.86", kCuda12_4));
  CHECK(jit::rank("NVRTC 12.9.86", kCuda13_0));
  CHECK(jit::rank("NVRTC 13.5.37", kCuda13_0));
  CHECK_FALSE(jit::rank("NVRTC 13.0.88", kCuda12_4));
  CHECK_FALSE(jit::rank("NVRTC 13.5.37", kCuda12_4));
  CHECK(jit::rank("NVRTC 13.0.88", 0));
  CHECK(jit::loads_all(kCuda12_4, {{"NVRTC 12.9.86", 1}}));
  CHECK_FALSE(jit::loads_all(kCuda12_4, {{"NVRTC 12.9.86", 1}, {"NVRTC 13.0.88", 1}}));
}

TEST_CASE("An accepted compiler replaces what another made, and nothing else replaces anything") {
  CHECK(jit::replaces("NVRTC 13.0.88", "NVRTC 13.5.37"));
  CHECK(jit::replaces("NVRTC 13.0.88", ""));
  CHECK_FALSE(jit::replaces("NVRTC 13.0.88", "NVRTC 13.0.48"));
  CHECK_FALSE(jit::replaces("NVRTC 13.5.37", "NVRTC 13.5.37"));
  CHECK_FALSE(jit::replaces("NVRTC 13.5.37", "NVRTC 13.0.88"));
  CHECK_FALSE(jit::replaces("", "NVRTC 13.5.37"));
}

TEST_CASE("What made a number of kernels is named, and what is wrong with it is said") {
  CHECK(jit::compilers_text({{"NVRTC 13.0.88", 8}}) == "NVRTC 13.0.88");
  CHECK(jit::compilers_text({{"NVRTC 13.0.88", 8}, {"NVRTC 13.5.37", 2}}) == "NVRTC 13.0.88 (8), NVRTC 13.5.37 (2)");
  CHECK(jit::unaccepted_text({{"NVRTC 13.0.88", 8}}).empty());
  const std::string text = jit::unaccepted_text({{"NVRTC 13.0.88", 8}, {"NVRTC 13.5.37", 2}});
  CHECK(text.starts_with("2 kernels were made by NVRTC 13.5.37, which this build of Cubinet was not tested with"));
  CHECK(text.find("13.0.88") != std::string::npos);
  CHECK(jit::unusable_text({}, kCuda12_4).empty());
  const std::string unusable = jit::unusable_text({{"NVRTC 13.0.88", 1}}, kCuda12_4);
  CHECK(unusable.starts_with("1 kernel was made by NVRTC 13.0.88, and this driver takes CUDA 12.4 at most; "));
}
