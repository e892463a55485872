// libFuzzer's target: reads any bytes as a bundle, unchanged and with corrected digests.
#include <cstddef>
#include <cstdint>

#include "fuzz/bundle_probe.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  cubinet::test::probe_bundle(bytes);
  cubinet::test::probe_bundle(cubinet::test::resealed(bytes));
  return 0;
}
