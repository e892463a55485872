// Work as other users, in child processes: root ignores file modes.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <filesystem>

#include "cache/cabinet.hpp"
#include "unit/cache/support.hpp"

namespace cubinet::test {

inline constexpr uid_t owner = 54'321;
inline constexpr uid_t stranger = 54'322;
inline constexpr const char* needs_root = "needs to be root, to become other users";

inline bool is_root() { return ::geteuid() == 0; }

// Runs `work` as `user`. Whether it returned true.
template <class Work>
bool as_user(uid_t user, Work work) {
  return in_child([&] {
           if (::setresgid(user, user, user) != 0 || ::setresuid(user, user, user) != 0) return 97;
           return work() ? 0 : 1;
         }) == 0;
}

// Publishes entry 0 to a cabinet. Whether it could.
inline bool fill(const std::filesystem::path& path) {
  auto cabinet = cache::Cabinet::open(path, true);
  return cabinet && cabinet->publish(key_of(0), object_of(0)).has_value();
}

}  // namespace cubinet::test
