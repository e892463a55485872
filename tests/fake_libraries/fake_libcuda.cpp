// A libcuda.so.1 with one simulated device of compute capability 9.0: every launch ends at once and computes nothing.
// Its memory is the host's. Environment variables set results:
//   FAKE_CUDA_INIT     the result of cuInit; 34 is that of a toolkit's stub
//   FAKE_CUDA_VERSION  the result of cuDriverGetVersion (13000)
//   FAKE_CUDA_LOAD     the result of loading a cubin
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int success = 0;
constexpr int not_supported = 801;

int setting(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::atoi(value) : otherwise;
}

thread_local void* current = nullptr;
char context;
char thing;  // all handles but contexts

template <class Handle>
int give(Handle* handle) {
  *handle = &thing;
  return success;
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return setting("FAKE_CUDA_INIT", success); }
int cuDriverGetVersion(int* version) { return *version = setting("FAKE_CUDA_VERSION", 13000), success; }
int cuGetErrorName(int result, const char** name) {
  if (result == 34) return 34;  // a stub has no error names
  return *name = result == 200 ? "CUDA_ERROR_INVALID_IMAGE" : "CUDA_ERROR_FAKE", success;
}
int cuGetErrorString(int result, const char** text) {
  if (result == 34) return 34;
  return *text = "made up", success;
}
int cuDeviceGetCount(int* count) { return *count = 1, success; }
int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, success; }
int cuDeviceGetName(char* name, int, int) { return std::strcpy(name, "Fake GPU"), success; }
int cuDeviceTotalMem_v2(std::size_t* bytes, int) { return *bytes = std::size_t{1} << 30, success; }
int cuDeviceGetAttribute(int* value, int attribute, int) {
  constexpr int multiprocessors = 16, major = 75, minor = 76;
  *value = attribute == multiprocessors ? 132 : attribute == major ? 9 : 0;
  return attribute == multiprocessors || attribute == major || attribute == minor ? success : not_supported;
}
int cuDevicePrimaryCtxRetain(void** retained, int) { return *retained = &context, success; }
int cuDevicePrimaryCtxRelease_v2(int) { return success; }
int cuCtxGetCurrent(void** found) { return *found = current, success; }
int cuCtxSetCurrent(void* wanted) { return current = wanted, success; }
int cuCtxPushCurrent_v2(void* wanted) { return current = wanted, success; }
int cuCtxPopCurrent_v2(void** left) { return *left = current, current = nullptr, success; }
int cuCtxSynchronize() { return success; }
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *free = std::size_t{1} << 29, *total = std::size_t{1} << 30;
  return success;
}
int cuMemAlloc_v2(std::uintptr_t* address, std::size_t bytes) {
  *address = reinterpret_cast<std::uintptr_t>(std::malloc(bytes));
  return *address != 0 ? success : 2;
}
int cuMemFree_v2(std::uintptr_t address) { return std::free(reinterpret_cast<void*>(address)), success; }
int cuMemcpyHtoD_v2(std::uintptr_t to, const void* from, std::size_t bytes) {
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), success;
}
int cuMemcpyHtoDAsync_v2(std::uintptr_t to, const void* from, std::size_t bytes, void*) {
  return cuMemcpyHtoD_v2(to, from, bytes);
}
int cuMemcpyDtoH_v2(void* to, std::uintptr_t from, std::size_t bytes) {
  return std::memcpy(to, reinterpret_cast<const void*>(from), bytes), success;
}
int cuMemcpyDtoHAsync_v2(void* to, std::uintptr_t from, std::size_t bytes, void*) {
  return cuMemcpyDtoH_v2(to, from, bytes);
}
int cuMemsetD8Async(std::uintptr_t, unsigned char, std::size_t, void*) { return success; }
int cuMemsetD16Async(std::uintptr_t, unsigned short, std::size_t, void*) { return success; }
int cuMemsetD32Async(std::uintptr_t, unsigned, std::size_t, void*) { return success; }
int cuStreamCreate(void** stream, unsigned) { return give(stream); }
int cuStreamDestroy_v2(void*) { return success; }
int cuStreamSynchronize(void*) { return success; }
int cuStreamQuery(void*) { return success; }
int cuStreamIsCapturing(void*, int* status) { return *status = 0, success; }
int cuThreadExchangeStreamCaptureMode(int*) { return success; }
int cuEventCreate(void** event, unsigned) { return give(event); }
int cuEventDestroy_v2(void*) { return success; }
int cuEventRecord(void*, void*) { return success; }
int cuEventSynchronize(void*) { return success; }
int cuEventQuery(void*) { return success; }
int cuLibraryLoadData(void** library, const void*, void*, void*, unsigned, void*, void*, unsigned) {
  return give(library), setting("FAKE_CUDA_LOAD", success);
}
int cuLibraryUnload(void*) { return success; }
int cuLibraryGetKernel(void** kernel, void*, const char*) { return give(kernel); }
int cuKernelGetFunction(void** function, void*) { return give(function); }
int cuFuncSetAttribute(void*, int, int) { return success; }
int cuFuncGetAttribute(int* value, int, void*) { return *value = 0, success; }
int cuFuncLoad(void*) { return success; }
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**) {
  return success;
}
int cuLaunchKernelEx(const void*, void*, void**, void**) { return success; }
int cuTensorMapEncodeTiled() { return success; }

// NVRTC requests tables of a driver that initializes, and continues without them.
int cuGetExportTable(const void** table, const void*) { return *table = nullptr, 500; }

// Functions that no test needs.
#define CUBINET_FAKE_NOT_SUPPORTED(name) \
  int name() { return not_supported; }
CUBINET_FAKE_NOT_SUPPORTED(cuPointerGetAttribute)
CUBINET_FAKE_NOT_SUPPORTED(cuStreamBeginCapture_v2)
CUBINET_FAKE_NOT_SUPPORTED(cuStreamEndCapture)
CUBINET_FAKE_NOT_SUPPORTED(cuGraphInstantiateWithFlags)
CUBINET_FAKE_NOT_SUPPORTED(cuGraphLaunch)
CUBINET_FAKE_NOT_SUPPORTED(cuGraphDestroy)
CUBINET_FAKE_NOT_SUPPORTED(cuGraphExecDestroy)
CUBINET_FAKE_NOT_SUPPORTED(cuEventElapsedTime)
CUBINET_FAKE_NOT_SUPPORTED(cuOccupancyMaxActiveBlocksPerMultiprocessor)
}
