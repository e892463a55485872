#include "jit/jobs.hpp"

#include <limits>

#include "catch.hpp"
#include "util/text.hpp"

namespace {

using namespace cubinet;
using jit::choose_jobs;
using jit::compile_jobs;
using jit::JobsReason;
using util::MemoryKind;
using util::MemoryRoom;

constexpr std::int64_t gib = std::int64_t{1} << 30;

}  // namespace

TEST_CASE("There are as many jobs as cores, or fewer if memory is short") {
  const jit::CompileMemory memory{100, 50};
  CHECK(compile_jobs(8, 1000, memory) == 8);
  CHECK(compile_jobs(8, 500, memory) == 8);
  CHECK(compile_jobs(8, 499, memory) == 7);
  CHECK(compile_jobs(8, 200, memory) == 2);
  CHECK(compile_jobs(8, std::numeric_limits<std::int64_t>::max(), memory) == 8);
}

TEST_CASE("There is at least one job, even with too little memory or an unknown number of cores") {
  const jit::CompileMemory memory{100, 50};
  for (const std::int64_t available : {0, 99, 100, 149}) CHECK(compile_jobs(8, available, memory) == 1);
  CHECK(compile_jobs(0, 1000, memory) == 1);
  CHECK(choose_jobs(0, {}).count == 1);
}

TEST_CASE("The tightest limit decides the number of jobs, and is named if it is memory") {
  const MemoryRoom machine{MemoryKind::resident, 64 * gib, "machine"};
  const MemoryRoom group{MemoryKind::resident, gib / 2, "group"};
  const auto free = choose_jobs(8, {machine});
  CHECK(free.count == 8);
  CHECK(free.reason == JobsReason::cores);
  const auto bound = choose_jobs(8, {machine, group});
  CHECK(bound.count == compile_jobs(8, gib / 2, jit::compile_memory(MemoryKind::resident)));
  CHECK(bound.count < 8);
  CHECK(bound.reason == JobsReason::memory);
  CHECK(bound.tightest == group);
  CHECK(choose_jobs(2, {machine, group}).reason == JobsReason::cores);
}

TEST_CASE("The limit on address space counts what threads map, which is more than they use") {
  const auto touched = choose_jobs(64, {{MemoryKind::resident, gib, "group"}});
  const auto mapped = choose_jobs(64, {{MemoryKind::mapped, gib, "process"}});
  CHECK(mapped.count < touched.count);
  CHECK(mapped.count >= 4);
}

TEST_CASE("A machine with 1 GiB compiles on more than one thread") {
  CHECK(choose_jobs(8, {{MemoryKind::resident, gib * 3 / 4, "machine"}}).count >= 4);
}

TEST_CASE("A limit too small for one job is reported with the memory needed and left") {
  for (const MemoryKind kind : {MemoryKind::resident, MemoryKind::mapped, MemoryKind::data}) {
    const std::int64_t least = jit::compile_memory(kind).least;
    const MemoryRoom ample{MemoryKind::resident, 64 * gib, "machine"};
    CHECK(jit::check_memory({ample, {kind, least, "group"}}));
    const auto refused = jit::check_memory({ample, {kind, least - 1, "group"}});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::out_of_memory);
    CHECK(refused.error().message.find("left by group") != std::string::npos);
    CHECK(refused.error().message.find(util::format_byte_size(least)) != std::string::npos);
    CHECK(refused.error().message.find(util::format_byte_size(least - 1)) != std::string::npos);
  }
  CHECK(jit::check_memory({}));
}

TEST_CASE("The minimum for one job is less than what jobs are planned with") {
  for (const MemoryKind kind : {MemoryKind::resident, MemoryKind::mapped, MemoryKind::data}) {
    const jit::CompileMemory memory = jit::compile_memory(kind);
    CHECK(memory.least > 0);
    CHECK(memory.least <= memory.base + memory.per_job);
  }
}
