#include "util/clock.hpp"

namespace cubinet::util {
namespace {

class SystemClock final : public Clock {
 public:
  std::int64_t seconds() const override {
    const auto time = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::seconds>(time).count();
  }
};

}  // namespace

const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

}  // namespace cubinet::util
