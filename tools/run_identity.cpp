#include "tools/run_identity.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <mutex>
#include <span>

#include "util/digest.hpp"

namespace cubinet::tools {
namespace {

// 128 bits. Where the system gives none, the moment tells two runs apart well enough.
std::string draw() {
  std::array<std::uint8_t, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), GRND_NONBLOCK) != static_cast<ssize_t>(bytes.size())) {
    const auto moment = std::chrono::system_clock::now().time_since_epoch().count();
    return util::sha256_hex(std::to_string(moment) + " " + std::to_string(getpid())).substr(0, 2 * bytes.size());
  }
  return util::to_hex(bytes);
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// Two containers of one machine share the boot, two machines perhaps the namespace's number.
std::string pid_namespace() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::array<char, 64> link{};  // as "pid:[4026531836]"
  const ssize_t length = readlink("/proc/self/ns/pid", link.data(), link.size());
  if (boot.empty() || length <= 0) return {};
  return boot + " " + std::string(link.data(), static_cast<std::size_t>(length));
}

}  // namespace

RunIdentity this_run() {
  static std::mutex mutex;
  static RunIdentity identity;
  const std::lock_guard lock(mutex);
  if (identity.process != getpid()) identity = {getpid(), draw(), host_name(), pid_namespace()};
  return identity;
}

}  // namespace cubinet::tools
