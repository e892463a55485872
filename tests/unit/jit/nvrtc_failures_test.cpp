// Tests of NVRTC's failures, with fake functions whose results a test sets.
#include <cstring>
#include <string>

#include "catch.hpp"
#include "jit/nvrtc_library.hpp"

using namespace cubinet;

namespace {

nvrtcResult created = NVRTC_SUCCESS;
nvrtcResult compile_result = NVRTC_SUCCESS;
std::string said;

jit::NvrtcLibrary failing_library() {
  jit::NvrtcLibrary nvrtc;
  nvrtc.nvrtcGetErrorString = [](nvrtcResult) { return "NVRTC_ERROR_FAKE"; };
  nvrtc.nvrtcCreateProgram = [](nvrtcProgram*, const char*, const char*, int, const char* const*, const char* const*) {
    return created;
  };
  nvrtc.nvrtcCompileProgram = [](nvrtcProgram, int, const char* const*) { return compile_result; };
  nvrtc.nvrtcDestroyProgram = [](nvrtcProgram*) { return NVRTC_SUCCESS; };
  nvrtc.nvrtcGetProgramLogSize = [](nvrtcProgram, size_t* size) { return *size = said.size(), NVRTC_SUCCESS; };
  nvrtc.nvrtcGetProgramLog = [](nvrtcProgram, char* log) {
    return std::memcpy(log, said.data(), said.size()), NVRTC_SUCCESS;
  };
  return nvrtc;
}

Error failure(nvrtcResult at_creation, nvrtcResult at_compilation, const std::string& log) {
  created = at_creation;
  compile_result = at_compilation;
  said = log;
  const auto answer = jit::run_nvrtc(failing_library(), {}, jit::NvrtcOutput::cubin);
  return answer ? Error{ErrorCode::io, "no failure", {}} : answer.error();
}

void check_memory_error(const Error& error) {
  CHECK(error.code == ErrorCode::out_of_memory);
  CHECK(error.message.find("ran out of memory") != std::string::npos);
  CHECK(error.message.find("--jobs 1") != std::string::npos);
  CHECK(error.message.find("MiB") != std::string::npos);
}

}  // namespace

TEST_CASE("Any failure of NVRTC for lack of memory is out_of_memory, and the message says what to do") {
  check_memory_error(failure(NVRTC_ERROR_OUT_OF_MEMORY, NVRTC_SUCCESS, ""));
  check_memory_error(failure(NVRTC_SUCCESS, NVRTC_ERROR_OUT_OF_MEMORY, ""));
  check_memory_error(failure(NVRTC_SUCCESS, NVRTC_ERROR_COMPILATION, "mainloop.cuh(2): error: out of memory\n"));
  check_memory_error(
      failure(NVRTC_SUCCESS, NVRTC_ERROR_COMPILATION, "ptxas fatal   : Ptx assembly aborted due to errors\n"));
}

TEST_CASE("An error in the source is not out_of_memory, and its log is valid text") {
  const Error error = failure(NVRTC_SUCCESS, NVRTC_ERROR_COMPILATION,
                              std::string("small.cuh(1): error: no CUDA\n\0ptxas\tsays\x1b\n\0", 43));
  CHECK(error.code == ErrorCode::compile_failed);
  CHECK(error.detail == "small.cuh(1): error: no CUDA\nptxas\tsays\n");
}

TEST_CASE("An option that NVRTC does not know is not out_of_memory") {
  CHECK(failure(NVRTC_SUCCESS, NVRTC_ERROR_INVALID_OPTION, "").code == ErrorCode::compile_failed);
}
