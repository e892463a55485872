// A libnvrtc whose compilations fail as words in the program's text say: crash, hang, and so on. Its version is 13.77,
// without a build number.
#include <nvrtc.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

// nvrtc.h declares no visibility.
#pragma GCC visibility push(default)

struct _nvrtcProgram {
  std::string text;
  std::string log;
};

namespace {

#ifdef FAKE_NVRTC_CRASHES
[[gnu::constructor]] void crash() { raise(SIGBUS); }
#endif

bool says(const _nvrtcProgram& program, const char* word) { return program.text.find(word) != std::string::npos; }

bool is_ignored(int signal) {
  struct sigaction action {};
  sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

// Uses `bytes` bytes of the stack.
[[gnu::noinline]] int deep(std::size_t bytes) {
  volatile char page[4096];
  page[0] = static_cast<char>(bytes);
  return bytes < sizeof page ? page[0] : deep(bytes - sizeof page) + page[0];
}

nvrtcResult give(const std::string& text, char* bytes) {
  return std::memcpy(bytes, text.c_str(), text.size() + 1), NVRTC_SUCCESS;
}

}  // namespace

nvrtcResult nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 77, NVRTC_SUCCESS; }

const char* nvrtcGetErrorString(nvrtcResult) { return "NVRTC_ERROR_FAKE"; }

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* text, const char*, int headers,
                               const char* const* texts, const char* const*) {
  *program = new _nvrtcProgram{text, {}};
  for (int i = 0; i < headers; ++i) (*program)->text += texts[i];
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) { return delete *program, NVRTC_SUCCESS; }

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int, const char* const*) {
  if (says(*program, "#print")) std::fputs("LLVM says\n", stderr), std::puts("on both streams"), std::fflush(stdout);
  if (says(*program, "#memory")) std::fputs("LLVM ERROR: out of memory\n", stderr), abort();
  if (says(*program, "#segfault")) raise(SIGSEGV);
  if (says(*program, "#abort")) abort();
  if (says(*program, "#exit")) _exit(4);
  if (says(*program, "#hang")) pause();
  if (says(*program, "#sleep")) usleep(300'000);
  if (says(*program, "#handlers")) signal(SIGINT, [](int) {}), signal(SIGTERM, [](int) {});
  if (says(*program, "#stack")) program->log = std::to_string(deep(std::size_t{4} << 20));
  if (says(*program, "#ignored"))
    program->log = is_ignored(SIGINT) && is_ignored(SIGTERM) && is_ignored(SIGHUP) ? "ignored" : "heard";
  if (says(*program, "#driver cache")) {
    const char* off = std::getenv("CUDA_CACHE_DISABLE");
    program->log = off != nullptr && std::string(off) == "1" ? "off" : "on";
  }
  if (says(*program, "#process")) program->log = std::to_string(getpid());
  return says(*program, "#error") ? NVRTC_ERROR_COMPILATION : NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* size) {
  return *size = program->log.size() + 1, NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) { return give(program->log, log); }
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram, size_t* size) { return *size = 6, NVRTC_SUCCESS; }
nvrtcResult nvrtcGetCUBIN(nvrtcProgram, char* bytes) { return give("cubin", bytes); }
nvrtcResult nvrtcGetPTXSize(nvrtcProgram, size_t* size) { return *size = 4, NVRTC_SUCCESS; }
nvrtcResult nvrtcGetPTX(nvrtcProgram, char* bytes) { return give("ptx", bytes); }
