#include "fake_driver.hpp"

#include <cstdint>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cubinet::test {
namespace {

FakeDevice device;
std::mutex device_mutex;  // guards members that several threads change

template <class Change>
CUresult locked(const Change& change) {
  const std::lock_guard lock(device_mutex);
  change();
  return CUDA_SUCCESS;
}

// Opaque handles made of numbers.
template <class Handle>
Handle handle(std::uintptr_t number) {
  return reinterpret_cast<Handle>(number);
}

void answer_questions(jit::Driver& driver) {
  driver.cuDeviceGetCount = [](int* count) { return *count = 1, CUDA_SUCCESS; };
  driver.cuDeviceGet = [](CUdevice* found, int ordinal) { return *found = ordinal, CUDA_SUCCESS; };
  driver.cuDeviceGetName = [](char* name, int, CUdevice) { return std::strcpy(name, "Fake GPU"), CUDA_SUCCESS; };
  driver.cuDeviceTotalMem = [](std::size_t* bytes, CUdevice) { return *bytes = 1 << 30, CUDA_SUCCESS; };
  driver.cuDeviceGetAttribute = [](int* value, CUdevice_attribute attribute, CUdevice) {
    *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? device.compute_major
             : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? device.compute_minor
                                                                         : device.num_sms;
    return CUDA_SUCCESS;
  };
  driver.cuDriverGetVersion = [](int* version) { return *version = fake_device().driver_version, CUDA_SUCCESS; };
  driver.cuGetErrorName = [](CUresult, const char** name) { return *name = "CUDA_ERROR_FAKE", CUDA_SUCCESS; };
  driver.cuGetErrorString = [](CUresult, const char** text) { return *text = "made up", CUDA_SUCCESS; };
}

void keep_contexts(jit::Driver& driver) {
  driver.cuDevicePrimaryCtxRetain = [](CUcontext* context, CUdevice) {
    ++device.retained;
    return *context = fake_context(), CUDA_SUCCESS;
  };
  driver.cuDevicePrimaryCtxRelease = [](CUdevice) { return --device.retained, CUDA_SUCCESS; };
  driver.cuCtxGetCurrent = [](CUcontext* context) { return *context = device.current, CUDA_SUCCESS; };
  driver.cuCtxPushCurrent = [](CUcontext context) {
    device.current = context;
    return locked([] { ++device.pushes; });
  };
  driver.cuCtxPopCurrent = [](CUcontext* context) {
    *context = device.current;
    device.current = nullptr;
    return locked([] { ++device.pops; });
  };
  driver.cuStreamIsCapturing = [](CUstream stream, CUstreamCaptureStatus* status) {
    const bool captured = stream != nullptr && stream == device.captured;
    *status = captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  };
  driver.cuThreadExchangeStreamCaptureMode = [](CUstreamCaptureMode* mode) {
    return locked([&] {
      if (*mode == CU_STREAM_CAPTURE_MODE_RELAXED) ++device.relaxed;
      std::swap(*mode, device.capture_mode);
    });
  };
  driver.cuCtxSynchronize = [] { return CUDA_SUCCESS; };
  driver.cuMemcpyDtoH = [](void* target, CUdeviceptr source, std::size_t bytes) {
    return std::memcpy(target, reinterpret_cast<const void*>(source), bytes), CUDA_SUCCESS;
  };
}

// The functions of libraries are numbered from here, so that they differ from functions that tests invent.
constexpr std::uintptr_t first_function = 0x10000;

std::string name_of(CUfunction function) {
  const auto number = reinterpret_cast<std::uintptr_t>(function);
  return number >= first_function ? device.entry_points.at(number - first_function) : "";
}

// The parameters of jit::launch: two tensor maps, one for each of 16 token counts, and 64 bytes of scalars.
constexpr std::size_t gemm_block_bytes = 18 * sizeof(CUtensorMap) + 64;

std::vector<std::uint64_t> words_of(const std::string& name, void** parameters) {
  std::vector<std::uint64_t> words;
  if (name.find("_grouped_") != std::string::npos) {
    words.resize(gemm_block_bytes / 8);
    std::memcpy(words.data(), parameters[0], gemm_block_bytes);
  } else if (name.rfind("fp8_", 0) == 0) {
    words.resize(name == "fp8_quantize_rows" ? 9 : 6);
    for (std::size_t i = 0; i < words.size(); ++i) std::memcpy(&words[i], parameters[i], 8);
  }
  return words;
}

CUresult note_launch(CUfunction function, unsigned ctas, unsigned threads, CUstream stream, void** parameters) {
  const std::lock_guard lock(device_mutex);
  ++device.launches;
  device.launched = function;
  device.stream = stream;
  const std::string name = name_of(function);
  device.history.push_back({function, name, ctas, threads, stream, words_of(name, parameters)});
  return device.launch_result;
}

// A library's handle is its number, from 1.
void load_and_launch(jit::Driver& driver) {
  driver.cuLibraryLoadData = [](CUlibrary* library, const void* code, CUjit_option*, void**, unsigned, CUlibraryOption*,
                                void**, unsigned) {
    return locked([&] {
      device.loads_outside_relaxed += device.capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED ? 0 : 1;
      device.loaded.emplace_back(static_cast<const char*>(code));
      *library = handle<CUlibrary>(device.loaded.size());
    });
  };
  driver.cuLibraryUnload = [](CUlibrary) { return locked([] { ++device.unloaded; }); };
  driver.cuLibraryGetKernel = [](CUkernel* kernel, CUlibrary, const char* name) {
    return locked([&] {
      device.entry_points.emplace_back(name);
      *kernel = handle<CUkernel>(first_function + device.entry_points.size() - 1);
    });
  };
  driver.cuKernelGetFunction = [](CUfunction* function, CUkernel kernel) {
    return *function = reinterpret_cast<CUfunction>(kernel), CUDA_SUCCESS;
  };
  driver.cuFuncSetAttribute = [](CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; };
  driver.cuTensorMapEncodeTiled = [](CUtensorMap* map, CUtensorMapDataType, cuuint32_t, void* base,
                                     const cuuint64_t* dimensions, const cuuint64_t*, const cuuint32_t*,
                                     const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                     CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
    return locked([&] {
      ++device.encoded_maps;
      const FakeMap fake{reinterpret_cast<std::uintptr_t>(base), dimensions[0], dimensions[1]};
      std::memcpy(map, &fake, sizeof fake);
    });
  };
  driver.cuLaunchKernelEx = [](const CUlaunchConfig* launch, CUfunction function, void** parameters, void**) {
    return note_launch(function, launch->gridDimX, launch->blockDimX, launch->hStream, parameters);
  };
  driver.cuLaunchKernel = [](CUfunction function, unsigned ctas, unsigned, unsigned, unsigned threads, unsigned,
                             unsigned, unsigned, CUstream stream, void** parameters,
                             void**) { return note_launch(function, ctas, threads, stream, parameters); };
}

}  // namespace

FakeDevice& fake_device() { return device; }

CUcontext fake_context() { return handle<CUcontext>(0x1000); }

std::shared_ptr<const jit::Driver> make_fake_driver() {
  device = FakeDevice{};
  FakeDevice::current = nullptr;
  auto driver = std::make_shared<jit::Driver>();
  answer_questions(*driver);
  keep_contexts(*driver);
  load_and_launch(*driver);
  return driver;
}

std::shared_ptr<const jit::DeviceContext> make_fake_context() {
  auto context = jit::DeviceContext::retain(make_fake_driver(), 0);
  if (!context) throw std::runtime_error(context.error().message);
  return std::make_shared<const jit::DeviceContext>(std::move(*context));
}

}  // namespace cubinet::test
