#include "util/memory.hpp"

#include <sys/resource.h>

#include <algorithm>

#include "catch.hpp"
#include "unit/util/fake_kernel.hpp"

namespace {

using namespace cubinet;
using test::FakeKernel;
using util::available_memory;
using util::labelled_bytes;
using util::memory_rooms;
using util::MemoryKind;
using util::process_limit;

constexpr std::int64_t mib = std::int64_t{1} << 20;

}  // namespace

TEST_CASE("A labelled number is found on its own line, in kilobytes or bytes") {
  const std::string text = "MemFree:   1 kB\nMemAvailable:\t 12345 kB\ninactive_file 77\ntotal_inactive_file 88";
  CHECK(labelled_bytes(text, "MemAvailable:") == 12345 * 1024);
  CHECK(labelled_bytes(text, "inactive_file") == 77);
  CHECK(labelled_bytes(text, "total_inactive_file") == 88);
}

TEST_CASE("What is no labelled number of bytes is none") {
  for (const char* text : {"", "x", "a", "a ", "a\n5", "ab 5", " a 5", "a -5", "a 5x", "a 5 MB", "a max",
                           "a 99999999999999999999", "a 9223372036854775807 kB"}) {
    INFO(text);
    CHECK_FALSE(labelled_bytes(text, "a").has_value());
  }
}

TEST_CASE("The soft limit of a process is read, and unlimited is none") {
  const std::string text =
      "Limit                     Soft Limit           Hard Limit           Units     \n"
      "Max data size             1048576              unlimited            bytes     \n"
      "Max address space         unlimited            unlimited            bytes     \n";
  CHECK(process_limit(text, "Max data size") == mib);
  CHECK_FALSE(process_limit(text, "Max address space").has_value());
  CHECK_FALSE(process_limit(text, "Max stack size").has_value());
  CHECK_FALSE(process_limit("", "Max data size").has_value());
}

TEST_CASE("Without a limit the machine's free memory is what is available, and without that nothing is told") {
  const FakeKernel kernel;
  CHECK_FALSE(available_memory(kernel.root()).has_value());
  kernel.write("proc/meminfo", "MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable: 2048 kB\n");
  CHECK(available_memory(kernel.root()) == 2 * mib);
  CHECK(memory_rooms(kernel.root()).size() == 1);
}

TEST_CASE("The smallest limit of the group and of those above it binds, less what is used and not a cache of files") {
  const FakeKernel kernel;
  kernel.write("proc/meminfo", "MemAvailable: 99999999 kB\n");
  kernel.write("proc/self/cgroup", "0::/outer/inner\n");
  const auto group = [&](const std::string& name, const char* limit, const char* use) {
    kernel.write("sys/fs/cgroup" + name + "/memory.max", limit);
    kernel.write("sys/fs/cgroup" + name + "/memory.current", use);
  };
  group("/outer/inner", "1000000\n", "300000\n");
  group("/outer", "max\n", "400000\n");
  CHECK(available_memory(kernel.root()) == 700000);
  kernel.write("sys/fs/cgroup/outer/inner/memory.stat", "file 9\nactive_file 60000\ninactive_file 40000\n");
  CHECK(available_memory(kernel.root()) == 800000);
  group("/outer", "900000\n", "400000\n");
  CHECK(available_memory(kernel.root()) == 500000);
  group("", "450000\n", "400000\n");
  CHECK(available_memory(kernel.root()) == 50000);
  kernel.write("sys/fs/cgroup/outer/memory.high", "420000\n");
  CHECK(available_memory(kernel.root()) == 20000);
  group("/beside", "1\n", "0\n");
  CHECK(available_memory(kernel.root()) == 20000);
}

TEST_CASE("A group that is over its limit leaves nothing, and a cache larger than the use counts as all of it") {
  const FakeKernel kernel;
  kernel.write("sys/fs/cgroup/memory.max", "1000\n");
  kernel.write("sys/fs/cgroup/memory.current", "2000\n");
  CHECK(available_memory(kernel.root()) == 0);
  kernel.write("sys/fs/cgroup/memory.stat", "inactive_file 1500\nactive_file 5000\n");
  CHECK(available_memory(kernel.root()) == 1000);
}

TEST_CASE("Limits of the first version count, also inside a container that is told the host's path") {
  const FakeKernel kernel;
  kernel.write("proc/self/cgroup", "4:memory:/docker/abc\n");
  kernel.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "1000000\n");
  kernel.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "600000\n");
  kernel.write("sys/fs/cgroup/memory/memory.stat",
               "inactive_file 1\ntotal_inactive_file 30000\ntotal_active_file 20000\n");
  const auto rooms = memory_rooms(kernel.root());
  REQUIRE(rooms.size() == 1);
  CHECK(rooms[0].bytes == 450000);
  CHECK(rooms[0].kind == MemoryKind::resident);
  CHECK(rooms[0].limit.find("memory.limit_in_bytes of ") == 0);
}

TEST_CASE("The process's own limits leave what it has not mapped yet") {
  const FakeKernel kernel;
  kernel.write("proc/self/limits", "Max data size   4096   unlimited   bytes\nMax address space  9000  9000  bytes\n");
  kernel.write("proc/self/status", "VmSize:\t 8 kB\nVmData:\t 1 kB\n");
  const auto rooms = memory_rooms(kernel.root());
  REQUIRE(rooms.size() == 2);
  CHECK(rooms[0].bytes == 9000 - 8192);
  CHECK(rooms[1].bytes == 4096 - 1024);
  CHECK(rooms[0].kind == MemoryKind::mapped);
  CHECK(rooms[1].kind == MemoryKind::data);
}

TEST_CASE("A real process has memory available, fewer bytes with a limit of its own, and a peak that is resident") {
  const auto before = available_memory();
  REQUIRE(before.has_value());
  CHECK(*before > 0);
  CHECK(util::resident_bytes() > 0);
  CHECK(util::peak_resident_bytes() >= util::resident_bytes() / 2);
#ifdef __SANITIZE_ADDRESS__
  CUBINET_SKIP("the address sanitizer maps more than the limit");
#endif
  struct rlimit kept {};
  REQUIRE(getrlimit(RLIMIT_DATA, &kept) == 0);
  const rlim_t tight = std::min<rlim_t>(kept.rlim_cur, 1 << 30);
  const struct rlimit lowered { tight, kept.rlim_max };
  REQUIRE(setrlimit(RLIMIT_DATA, &lowered) == 0);
  const auto after = available_memory();
  CHECK(setrlimit(RLIMIT_DATA, &kept) == 0);
  REQUIRE(after.has_value());
  CHECK(*after < std::int64_t{1} << 30);
}
