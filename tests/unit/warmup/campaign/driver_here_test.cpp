#include "warmup/campaign/driver_here.hpp"

#include "catch.hpp"

using namespace cubinet;

namespace {

// Of a kernel module with that version, or of none, where libcuda answers CUDA 12.4.
int limit(const char* module, int* asked) {
  const auto read = module != nullptr ? std::optional(warmup::Executed{"NVIDIA H200", module}) : std::nullopt;
  return warmup::driver_limit(read, [&] {
    ++*asked;
    return 12040;
  });
}

}  // namespace

TEST_CASE("A driver for CUDA 13 is known by its kernel module, and the driver itself is not opened") {
  int asked = 0;
  CHECK(limit("580.95.05", &asked) == 13000);
  CHECK(limit("590.44.01", &asked) == 13000);
  CHECK(asked == 0);
}

TEST_CASE("An older driver is asked, since a newer libcuda may lie beside it") {
  for (const char* module : {"550.54.15", "579.99", "450.80.02", "unknown"}) {
    int asked = 0;
    CHECK(limit(module, &asked) == 12040);
    CHECK(asked == 1);
  }
}

TEST_CASE("A machine without a driver limits nothing") {
  int asked = 0;
  CHECK(limit(nullptr, &asked) == 0);
  CHECK(asked == 0);
}
