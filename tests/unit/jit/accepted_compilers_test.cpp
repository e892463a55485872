#include "jit/accepted_compilers.hpp"

#include <algorithm>
#include <set>

#include "catch.hpp"

using namespace cubinet;

namespace {

// A version as cuDriverGetVersion returns it.
constexpr int kCuda12_4 = 12040;
constexpr int kCuda13_0 = 13000;

}  // namespace

TEST_CASE("Accepted compilers are exact builds without duplicates") {
  const auto& accepted = jit::accepted_compilers();
  CHECK((std::set<std::string>(accepted.begin(), accepted.end()).size() == accepted.size()));
  for (const std::string& version : accepted) {
    CHECK(std::count(version.begin(), version.end(), '.') == 2);
    CHECK(jit::is_accepted("NVRTC " + version));
  }
}

TEST_CASE("Builds of one minor version are distinguished, and other texts are not parsed as a compiler") {
  CHECK(jit::is_accepted("NVRTC 13.0.88"));
  CHECK(*jit::rank("NVRTC 13.0.88", 0) < *jit::rank("NVRTC 13.0.48", 0));
  for (const char* other : {"NVRTC 13.0", "NVRTC 13.0.8", "NVRTC 13.0.880", "13.0.88", "nvcc 13.0.88", ""}) {
    CHECK_FALSE(jit::is_accepted(other));
  }
}

TEST_CASE("Messages recommend the best build of each CUDA major version") {
  CHECK(jit::preferred_text() == "13.0.88 or 12.9.86");
}

TEST_CASE("NVRTC 13.5, which spills up to 84 bytes, is not accepted and is ranked last") {
  CHECK_FALSE(jit::is_accepted("NVRTC 13.5.37"));
  const auto last = jit::rank("NVRTC 13.5.37", 0);
  REQUIRE(last);
  for (const std::string& version : jit::accepted_compilers()) CHECK(*jit::rank("NVRTC " + version, 0) < *last);
  CHECK(jit::rank("", 0) == last);
}

TEST_CASE("A driver loads cubins of its own CUDA major version and of earlier ones, for any minor version") {
  CHECK(jit::rank("NVRTC 12.9.86", kCuda12_4));
  CHECK(jit::rank("NVRTC 12.9.86", kCuda13_0));
  CHECK(jit::rank("NVRTC 13.5.37", kCuda13_0));
  CHECK_FALSE(jit::rank("NVRTC 13.0.88", kCuda12_4));
  CHECK_FALSE(jit::rank("NVRTC 13.5.37", kCuda12_4));
  CHECK(jit::rank("NVRTC 13.0.88", 0));
  CHECK(jit::loads_all(kCuda12_4, {{"NVRTC 12.9.86", 1}}));
  CHECK_FALSE(jit::loads_all(kCuda12_4, {{"NVRTC 12.9.86", 1}, {"NVRTC 13.0.88", 1}}));
}

TEST_CASE("Only an accepted compiler replaces entries, and only those of an unaccepted compiler") {
  CHECK(jit::replaces("NVRTC 13.0.88", "NVRTC 13.5.37"));
  CHECK(jit::replaces("NVRTC 13.0.88", ""));
  CHECK_FALSE(jit::replaces("NVRTC 13.0.88", "NVRTC 13.0.48"));
  CHECK_FALSE(jit::replaces("NVRTC 13.5.37", "NVRTC 13.5.37"));
  CHECK_FALSE(jit::replaces("NVRTC 13.5.37", "NVRTC 13.0.88"));
  CHECK_FALSE(jit::replaces("", "NVRTC 13.5.37"));
}

TEST_CASE("Messages name the compilers of kernels, and what is wrong with them") {
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
