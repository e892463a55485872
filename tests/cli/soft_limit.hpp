// Limits for the command under test.
#pragma once

#include <sys/resource.h>

#include <algorithm>

#include "catch.hpp"

namespace cubinet::cli {

// Sets a soft limit of the test's process, which its children inherit, while the object lives.
class SoftLimit {
 public:
  SoftLimit(int resource, rlim_t bytes) : resource_(resource) {
    REQUIRE(getrlimit(resource_type(), &before_) == 0);
    struct rlimit limit = before_;
    limit.rlim_cur = std::min(bytes, before_.rlim_max);
    REQUIRE(setrlimit(resource_type(), &limit) == 0);
  }
  ~SoftLimit() { setrlimit(resource_type(), &before_); }
  SoftLimit(const SoftLimit&) = delete;
  SoftLimit& operator=(const SoftLimit&) = delete;

 private:
  [[nodiscard]] __rlimit_resource_t resource_type() const { return static_cast<__rlimit_resource_t>(resource_); }

  int resource_;
  struct rlimit before_ {};
};

}  // namespace cubinet::cli
