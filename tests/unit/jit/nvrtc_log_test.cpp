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

TEST_CASE("A log without valid figures yields none") {
  for (const char* log : {"", "\n\n", "warning: 12 registers", "ptxas info : Used  registers", " bytes smem",
                          "ptxas 99999999999999999999 registers", "ptxas\n"}) {
    const auto facts = jit::parse_ptxas_log(log);
    CHECK(facts.resources.registers == 0);
    CHECK(facts.resources.static_smem_bytes == 0);
    CHECK(facts.kernel_names.empty());
  }
}

TEST_CASE("A log keeps line ends and tabs and loses all other control characters") {
  const std::string log("first\tline\n\0second\x1b[31m\r\n\x7f\xc3\xa9\0", 29);
  CHECK(jit::printable_log(log) == "first\tline\nsecond[31m\n\xc3\xa9");
  CHECK(jit::printable_log("").empty());
}

TEST_CASE("A log that says out of memory or names no error counts as out of memory") {
  CHECK(jit::is_out_of_memory(""));
  CHECK(jit::is_out_of_memory("ptxas fatal   : Ptx assembly aborted due to errors\n"));
  CHECK(jit::is_out_of_memory("ptxas info    : 0 bytes gmem\nptxas fatal   : Memory allocation failure\n"));
  CHECK(jit::is_out_of_memory("mainloop.cuh(27): catastrophic error: out of memory\n  struct Mainloop;\n"));
}

TEST_CASE("A log that names another error does not count as out of memory") {
  CHECK_FALSE(jit::is_out_of_memory("small.cuh(1): error: identifier \"memory\" is undefined\n"));
  CHECK_FALSE(
      jit::is_out_of_memory("ptxas error   : Entry function 'small' uses too much shared data\n"
                            "ptxas fatal   : Ptx assembly aborted due to errors\n"));
  CHECK_FALSE(jit::is_out_of_memory("ptxas fatal   : Unresolved extern function 'missing'\n"));
}

TEST_CASE("The compiler's build is read from the head of a PTX text") {
  const std::string head = "//\n// Compiler Build ID: CL-36424714\n// Cuda compilation tools, release 13.0, ";
  CHECK(jit::build_in_ptx(head + "V13.0.88\n// Based on NVVM 7.0.1\n", "13.0") == "13.0.88");
  CHECK(jit::build_in_ptx(head + "V13.0.88", "13.0") == "13.0.88");
}

TEST_CASE("If the PTX text has no build, or another compiler's, the build is the release") {
  for (const char* text : {"", "// release 13.0, V", "// release 13.0, V12.8.1", "// release 12.8, V12.8.93\n"})
    CHECK(jit::build_in_ptx(text, "13.0") == "13.0");
}
