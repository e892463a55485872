#include "jit/nvrtc_log.hpp"

#include "catch.hpp"

using namespace cubinet;

TEST_CASE("Registers, spills, shared memory and names are read from the log") {
  const auto facts = jit::parse_ptxas_log(
      "ptxas info    : 150 bytes gmem\n"
      "ptxas info    : Compiling entry function 'first' for 'sm_90a'\n"
      "ptxas info    : Function properties for first\n"
      "ptxas         .     32 bytes stack frame, 8 bytes spill stores, 16 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 16 barriers, 1024 bytes smem, 400 bytes cmem[0]\n"
      "ptxas info    : Compile time = 292.544 ms\n"
      "ptxas info    : Compiling entry function 'second' for 'sm_90a'\n"
      "ptxas         .     0 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
      "ptxas info    : Used 32 registers, used 0 barriers, 512 bytes smem");
  CHECK(facts.kernel_names == std::vector<std::string>{"first", "second"});
  CHECK(facts.resources.registers == 168);
  CHECK(facts.resources.spill_bytes == 32);
  CHECK(facts.resources.static_smem_bytes == 1024);
}

TEST_CASE("A log without figures, or with strange ones, yields none") {
  for (const char* log : {"", "\n\n", "warning: 12 registers", "ptxas info : Used  registers", " bytes smem",
                          "ptxas 99999999999999999999 registers", "ptxas\n"}) {
    const auto facts = jit::parse_ptxas_log(log);
    CHECK(facts.resources.registers == 0);
    CHECK(facts.resources.static_smem_bytes == 0);
    CHECK(facts.kernel_names.empty());
  }
}
