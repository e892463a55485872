// Tests of the search for NVRTC, with workers and in this process.
#include <signal.h>

#include <array>
#include <fstream>

#include "jit/families/registry.hpp"
#include "unit/jit/compile/worker_world.hpp"
#include "unit/util/temp_folder.hpp"

using namespace cubinet;
using namespace cubinet::test;
namespace fs = std::filesystem;

namespace {

// Compilation in workers, and in this process.
const std::array<std::string, 2> workers{jit::shipped_worker(), ""};

// Copies the fake library and its builtins.
fs::path copy_of_fake(const TempFolder& folder) {
  fs::copy(CUBINET_FAKE_NVRTC, folder.path());
  return folder.path() / "libnvrtc.so";
}

void check_passed_over(const fs::path& library, const std::string& words, const std::string& worker) {
  const auto found = jit::NvrtcCompiler::open({library.parent_path().string(), CUBINET_FAKE_NVRTC}, worker);
  REQUIRE(found);
  CHECK((*found)->location().path == fake_nvrtc());
  INFO((*found)->location().refused);
  CHECK((*found)->location().refused.find(library.string()) != std::string::npos);
  CHECK((*found)->location().refused.find(words) != std::string::npos);
}

}  // namespace

TEST_CASE("A library truncated at any length is skipped with a reason, and no process ends by SIGBUS") {
  for (const std::string& worker : workers) {
    const TempFolder folder;
    const fs::path library = copy_of_fake(folder);
    const auto whole = fs::file_size(library);
    for (const auto bytes : {whole - 1, whole / 2, std::uintmax_t{4096}, std::uintmax_t{100}, std::uintmax_t{0}}) {
      fs::resize_file(library, bytes);
      check_passed_over(library, bytes < 4096 && bytes < 64 ? "not a shared library" : "truncated", worker);
    }
  }
}

TEST_CASE("The real library, truncated, is skipped with a reason") {
  const auto real = jit::NvrtcCompiler::open({});
  REQUIRE(real);
  const TempFolder folder;
  const fs::path library = folder.path() / "libnvrtc.so.13";
  fs::copy_file((*real)->location().path, library);
  fs::resize_file(library, fs::file_size(library) / 10);
  for (const std::string& worker : workers) check_passed_over(library, "truncated", worker);
}

TEST_CASE("An NVRTC with truncated or missing builtins is skipped") {
  const TempFolder folder;
  const fs::path library = copy_of_fake(folder);
  const fs::path builtins = folder.path() / "libnvrtc-builtins.so.13.77";
  fs::resize_file(builtins, fs::file_size(builtins) / 2);
  const auto found = jit::NvrtcCompiler::open({folder.path().string(), CUBINET_FAKE_NVRTC});
  REQUIRE(found);
  CHECK((*found)->location().refused.find(builtins.string() + ": truncated") != std::string::npos);
  fs::remove(builtins);
  check_passed_over(library, "lacks libnvrtc-builtins.so.13.77", jit::shipped_worker());
}

TEST_CASE("Another library under NVRTC's name is skipped with a reason") {
  for (const std::string& worker : workers) {
    const TempFolder folder;
    const fs::path library = folder.path() / "libnvrtc.so";
    fs::copy_file(CUBINET_FAKE_NVRTC "/libnvrtc-builtins.so.13.77", library);
    check_passed_over(library, "has no nvrtcVersion", worker);
    fs::remove(library);  // not overwritten: the loader has mapped that file
    std::ofstream(library) << "no library";
    check_passed_over(library, "not a shared library for this machine", worker);
  }
}

TEST_CASE("A library that crashes when it is opened is skipped, and the reason names file and signal") {
#ifndef CUBINET_ADDRESS_SANITIZER
  check_passed_over(crashing_nvrtc(), "was ended by SIGBUS", jit::shipped_worker());
#endif
}

TEST_CASE("If no worker can be started, this process compiles, and the reason is reported") {
  const TempFolder folder;
  const std::string foreign = "/bin/true";
  for (const std::string& worker : {std::string(), folder.path().string() + "/absent", foreign}) {
    const auto compiler = jit::NvrtcCompiler::open({CUBINET_FAKE_NVRTC}, worker);
    REQUIRE(compiler);
    CHECK_FALSE((*compiler)->location().in_process.empty());
    CHECK((*compiler)->remark().find("in this process") != std::string::npos);
    CHECK((*compiler)->compile(jit::families().verification("sm_90a")->spec()));
    CHECK(children().empty());
  }
  const auto with_worker = jit::NvrtcCompiler::open({CUBINET_FAKE_NVRTC});
  REQUIRE(with_worker);
  CHECK((*with_worker)->location().in_process.empty());
  CHECK((*with_worker)->remark().empty());
}

TEST_CASE("NVRTC's first compilation in this process does not change the signal handlers") {
  struct sigaction handler {
  }, after{};
  handler.sa_sigaction = [](int, siginfo_t*, void*) {};
  handler.sa_flags = SA_SIGINFO;
  sigaction(SIGTERM, &handler, nullptr);
  REQUIRE(jit::NvrtcCompiler::open({}, ""));
  sigaction(SIGTERM, nullptr, &after);
  CHECK(after.sa_sigaction == handler.sa_sigaction);
  CHECK((after.sa_flags & SA_SIGINFO) != 0);
}
