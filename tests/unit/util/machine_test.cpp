#include "util/machine.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "catch.hpp"
#include "unit/util/fake_kernel.hpp"

namespace {

using namespace cubinet;
using test::FakeKernel;
using util::group_folders;
using util::memory_rooms;
using util::MemoryKind;
using util::usable_cores;
using Folders = std::vector<std::filesystem::path>;

constexpr std::int64_t mib = std::int64_t{1} << 20;

// The smallest number of bytes that any limit leaves; nullopt without limits.
std::optional<std::int64_t> available_memory(const std::filesystem::path& root = "/") {
  std::optional<std::int64_t> least;
  for (const util::MemoryRoom& room : memory_rooms(root)) least = std::min(least.value_or(room.bytes), room.bytes);
  return least;
}

// The group's folder for a hierarchy, where /proc/self/cgroup holds `text`.
std::filesystem::path group_of(const char* text, const char* hierarchy) {
  const FakeKernel kernel;
  kernel.write("proc/self/cgroup", text);
  return group_folders(hierarchy, kernel.root()).front().lexically_relative(kernel.path("sys/fs/cgroup"));
}

}  // namespace

TEST_CASE("A group is read from the line of its hierarchy, also if several controllers share one") {
  const char* text = "9:name=systemd:/init\n4:memory:/job/7\n3:cpu,cpuacct:/fast\n0::/user.slice/a:b\n";
  CHECK(group_of(text, "memory") == "memory/job/7");
  CHECK(group_of(text, "cpu") == "cpu/fast");
  CHECK(group_of(text, "cpuacct") == "cpuacct/fast");
  CHECK(group_of(text, "") == "unified/user.slice/a:b");
}

TEST_CASE("A group that is unknown or outside of the mount counts as the root") {
  for (const char* text : {"", "\n", "x", "::", "4:memory", "4:memory:", "4:memory:job", "4:memory:/../other",
                           "0::/job", "4:memory2:/job", "4:cpu:/memory"}) {
    INFO(text);
    CHECK(group_of(text, "memory") == "memory/");
  }
  CHECK(group_of("4:memory:/job\n", "") == "unified/");
}

TEST_CASE(
    "The folders of a group go from the innermost to the root, in each place where the hierarchy may be mounted") {
  const FakeKernel kernel;
  kernel.write("proc/self/cgroup", "4:memory:/a/b\n0::/c\n");
  const auto path = [&](const char* name) { return kernel.path(name); };
  CHECK(group_folders("memory", kernel.root()) ==
        Folders{path("sys/fs/cgroup/memory/a/b"), path("sys/fs/cgroup/memory/a"), path("sys/fs/cgroup/memory/")});
  CHECK(group_folders("", kernel.root()) == Folders{path("sys/fs/cgroup/unified/c"), path("sys/fs/cgroup/unified/"),
                                                    path("sys/fs/cgroup/c"), path("sys/fs/cgroup/")});
  CHECK(group_folders("cpu", path("absent")).size() == 1);
}

TEST_CASE("A CPU quota counts as whole cores, and other texts set no limit") {
  const FakeKernel kernel;
  const int all = usable_cores(kernel.root());
  const auto cores = [&](const char* cpu_max) {
    kernel.write("sys/fs/cgroup/cpu.max", cpu_max);
    return usable_cores(kernel.root());
  };
  CHECK(cores("200000 100000\n") == std::min(all, 2));
  CHECK(cores("150000 100000\n") == std::min(all, 2));
  CHECK(cores("1000 100000\n") == 1);
  CHECK(cores("9223372036854775807 1\n") == all);
  for (const char* text : {"max 100000", "", "200000", "0 100000", "100000 0", "-1 100000", "a b", "1 2 3"}) {
    INFO(text);
    CHECK(cores(text) == all);
  }
}

TEST_CASE("There is at least one usable core, and at most as many as the machine has") {
  CHECK(usable_cores() >= 1);
  CHECK(usable_cores() <= static_cast<int>(std::thread::hardware_concurrency()));
}

TEST_CASE("A quota of the control group or of one above it limits the cores, in both versions") {
  const FakeKernel kernel;
  kernel.write("proc/self/cgroup", "1:cpu,cpuacct:/slow\n0::/outer/inner\n");
  CHECK(usable_cores(kernel.root()) == usable_cores("/nowhere"));
  kernel.write("sys/fs/cgroup/outer/cpu.max", "100000 100000\n");
  CHECK(usable_cores(kernel.root()) == 1);
  kernel.write("sys/fs/cgroup/outer/cpu.max", "max 100000\n");
  kernel.write("sys/fs/cgroup/cpu/slow/cpu.cfs_quota_us", "50000\n");
  kernel.write("sys/fs/cgroup/cpu/slow/cpu.cfs_period_us", "100000\n");
  CHECK(usable_cores(kernel.root()) == 1);
  kernel.write("sys/fs/cgroup/cpu/slow/cpu.cfs_quota_us", "-1\n");
  CHECK(usable_cores(kernel.root()) == usable_cores("/nowhere"));
}

TEST_CASE("A labelled number is found on its own line, in kilobytes or bytes") {
  const FakeKernel kernel;
  kernel.write("proc/self/status", "VmHWM:   1 kB\nVmRSS:\t 12345 kB\nRssFile: 77");
  CHECK(util::resident_bytes(kernel.root()) == 12345 * 1024);
  CHECK(util::peak_resident_bytes(kernel.root()) == 1024);
  CHECK(util::resident_file_bytes(kernel.root()) == 77);
}

TEST_CASE("A line that is not a labelled number of bytes is ignored") {
  for (const char* text :
       {"", "x", "VmRSS:", "VmRSS: ", "VmRSS:\n5", "VmRSS:b 5", " VmRSS: 5", "VmRSS: -5", "VmRSS: 5x", "VmRSS: 5 MB",
        "VmRSS: max", "VmRSS: 99999999999999999999", "VmRSS: 9223372036854775807 kB"}) {
    INFO(text);
    const FakeKernel kernel;
    kernel.write("proc/self/status", text);
    CHECK(util::resident_bytes(kernel.root()) == 0);
  }
}

TEST_CASE("An unlimited soft limit of the process, or a missing one, is no limit") {
  const FakeKernel kernel;
  kernel.write("proc/self/limits",
               "Limit                     Soft Limit           Hard Limit           Units     \n"
               "Max data size             1048576              unlimited            bytes     \n"
               "Max address space         unlimited            unlimited            bytes     \n");
  REQUIRE(memory_rooms(kernel.root()).size() == 1);
  CHECK(memory_rooms(kernel.root())[0].bytes == mib);
  CHECK(memory_rooms(kernel.root())[0].kind == MemoryKind::data);
  kernel.write("proc/self/limits", "");
  CHECK(memory_rooms(kernel.root()).empty());
}

TEST_CASE("Without limits the machine's free memory is available, and without /proc nothing is known") {
  const FakeKernel kernel;
  CHECK_FALSE(available_memory(kernel.root()).has_value());
  kernel.write("proc/meminfo", "MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable: 2048 kB\n");
  CHECK(available_memory(kernel.root()) == 2 * mib);
  CHECK(memory_rooms(kernel.root()).size() == 1);
}

TEST_CASE("Available memory is the smallest limit of the group and those above it, minus use without file cache") {
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

TEST_CASE("A group over its limit has 0 bytes available, and file cache counts for at most all of the use") {
  const FakeKernel kernel;
  kernel.write("sys/fs/cgroup/memory.max", "1000\n");
  kernel.write("sys/fs/cgroup/memory.current", "2000\n");
  CHECK(available_memory(kernel.root()) == 0);
  kernel.write("sys/fs/cgroup/memory.stat", "inactive_file 1500\nactive_file 5000\n");
  CHECK(available_memory(kernel.root()) == 1000);
}

TEST_CASE("Limits of version 1 are read, also inside a container that sees the host's path") {
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

TEST_CASE("The rest of the process's own limits is what it has not mapped yet") {
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
#ifdef CUBINET_ADDRESS_SANITIZER
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
