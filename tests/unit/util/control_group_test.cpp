#include "util/control_group.hpp"

#include "catch.hpp"
#include "unit/util/fake_kernel.hpp"

using namespace cubinet;
using util::group_folders;
using util::group_path;
using Folders = std::vector<std::filesystem::path>;

TEST_CASE("A group is read from the line of its hierarchy, also where a controller shares one") {
  const std::string text = "9:name=systemd:/init\n4:memory:/job/7\n3:cpu,cpuacct:/fast\n0::/user.slice/a:b\n";
  CHECK(group_path(text, "memory") == "/job/7");
  CHECK(group_path(text, "cpu") == "/fast");
  CHECK(group_path(text, "cpuacct") == "/fast");
  CHECK(group_path(text, util::unified_hierarchy) == "/user.slice/a:b");
}

TEST_CASE("A group that is not told, or lies outside, is the root") {
  for (const char* text : {"", "\n", "x", "::", "4:memory", "4:memory:", "4:memory:job", "4:memory:/../other",
                           "0::/job", "4:memory2:/job", "4:cpu:/memory"}) {
    INFO(text);
    CHECK(group_path(text, "memory") == "/");
  }
  CHECK(group_path("4:memory:/job\n", util::unified_hierarchy) == "/");
}

TEST_CASE("The folders of a group lead from the innermost to the root, in each place where the hierarchy may be") {
  const test::FakeKernel kernel;
  kernel.write("proc/self/cgroup", "4:memory:/a/b\n0::/c\n");
  const auto path = [&](const char* name) { return kernel.path(name); };
  CHECK(group_folders("memory", kernel.root()) ==
        Folders{path("sys/fs/cgroup/memory/a/b"), path("sys/fs/cgroup/memory/a"), path("sys/fs/cgroup/memory/")});
  CHECK(group_folders(util::unified_hierarchy, kernel.root()) ==
        Folders{path("sys/fs/cgroup/unified/c"), path("sys/fs/cgroup/unified/"), path("sys/fs/cgroup/c"),
                path("sys/fs/cgroup/")});
  CHECK(group_folders("cpu", path("absent")).size() == 1);
}
