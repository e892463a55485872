#include "util/cores.hpp"

#include <thread>

#include "catch.hpp"
#include "unit/util/fake_kernel.hpp"

using namespace cubinet;

TEST_CASE("A CPU quota counts as whole cores, and what is no quota sets no limit") {
  CHECK(util::cores_of_quota("200000 100000") == 2);
  CHECK(util::cores_of_quota("150000 100000") == 2);
  CHECK(util::cores_of_quota("1000 100000") == 1);
  CHECK(util::cores_of_quota("9223372036854775807 1").value() > 1000);
  for (const char* text : {"max 100000", "", "200000", "0 100000", "100000 0", "-1 100000", "a b", "1 2 3"}) {
    INFO(text);
    CHECK_FALSE(util::cores_of_quota(text).has_value());
  }
}

TEST_CASE("There is always a core to use, and never more than the machine has") {
  CHECK(util::usable_cores() >= 1);
  CHECK(util::usable_cores() <= static_cast<int>(std::thread::hardware_concurrency()));
}

TEST_CASE("A quota of the control group or of one above it binds the cores, in both versions") {
  const test::FakeKernel kernel;
  kernel.write("proc/self/cgroup", "1:cpu,cpuacct:/slow\n0::/outer/inner\n");
  CHECK(util::usable_cores(kernel.root()) == util::usable_cores("/nowhere"));
  kernel.write("sys/fs/cgroup/outer/cpu.max", "100000 100000\n");
  CHECK(util::usable_cores(kernel.root()) == 1);
  kernel.write("sys/fs/cgroup/outer/cpu.max", "max 100000\n");
  kernel.write("sys/fs/cgroup/cpu/slow/cpu.cfs_quota_us", "50000\n");
  kernel.write("sys/fs/cgroup/cpu/slow/cpu.cfs_period_us", "100000\n");
  CHECK(util::usable_cores(kernel.root()) == 1);
  kernel.write("sys/fs/cgroup/cpu/slow/cpu.cfs_quota_us", "-1\n");
  CHECK(util::usable_cores(kernel.root()) == util::usable_cores("/nowhere"));
}
