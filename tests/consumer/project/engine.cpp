// Starts through the C++ interface. Without a GPU it prints the error.
#include <cstdio>
#include <stdexcept>

#include "cubinet/cubinet.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  cubinet::ServiceOptions options = cubinet::ServiceOptions::from_environment();
  options.cache_root = argv[1];
  options.miss = cubinet::MissPolicy::error;
  const cubinet::Problem problem{
      .data_type = cubinet::DataType::bf16, .layout = cubinet::Layout::masked, .n = 256, .k = 512, .groups = 4};
  auto started = cubinet::start(options, {{problem, {1, 64}}});
  if (started.ok()) {
    std::printf("%lld kernels\n", static_cast<long long>(started.value().report.loaded));
    return started.value().report.missing == 0 ? 0 : 1;
  }
  try {
    static_cast<void>(started.value());
  } catch (const std::logic_error& error) {
    std::printf("no start: %s\n", error.what());
    return started.error().message == error.what() ? 0 : 1;
  }
  return 1;
}
