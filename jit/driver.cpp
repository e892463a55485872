#include "jit/driver.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <filesystem>

// Expands a macro of cuda.h before it becomes a string: cuMemAlloc gives "cuMemAlloc_v2".
#define CUBINET_TEXT_OF(symbol) #symbol
#define CUBINET_SYMBOL_OF(function) CUBINET_TEXT_OF(function)

namespace cubinet::jit {
namespace {

struct Library {
  void* handle = nullptr;
  std::string path;
};

constexpr const char* kInstallDriver =
    "install the NVIDIA driver of this machine's GPU, or, in a container, start it with the GPU passed through";

// The path where the loader found the library that was opened as `asked`.
std::string path_of(void* handle, const std::string& asked) {
  const link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map->l_name[0] == '\0') return asked;
  const std::string found = map->l_name;
  std::error_code trouble;
  const std::string file = std::filesystem::canonical(found, trouble).string();
  return trouble || file == found ? found : found + " (a link to " + file + ")";
}

struct Refusals {
  std::string all;    // one line for each candidate
  std::string first;  // reason for the first file that exists, such as an empty file in a container
};

// Opens the first of the candidates that the loader accepts.
Library open_first(const std::vector<std::string>& candidates, Refusals& refusals) {
  for (const std::string& candidate : candidates) {
    if (void* handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) return {handle, path_of(handle, candidate)};
    const char* text = dlerror();
    const std::string reason = text != nullptr ? text : candidate + ": refused";
    refusals.all += candidate + ": " + reason + "\n";
    const bool is_absent = reason.starts_with(candidate + ": cannot open shared object file: No such file");
    if (!is_absent && refusals.first.empty()) refusals.first = reason;
  }
  return {};
}

template <class Function>
bool resolve(const Library& library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library.handle, symbol));
  return function != nullptr;
}

// Fills the table. Returns the name of the first symbol that the library lacks, nullptr if it has all of them.
const char* fill(const Library& library, Driver& driver) {
#define CUBINET_RESOLVE(function)                                                                             \
  if (!resolve(library, CUBINET_SYMBOL_OF(function), driver.function)) {                                      \
    /* Same signature under both names; drivers before 12.8 have the shorter one. */                          \
    if (std::string_view(#function) != "cuEventElapsedTime" || !resolve(library, #function, driver.function)) \
      return CUBINET_SYMBOL_OF(function);                                                                     \
  }
  CUBINET_DRIVER_FUNCTIONS(CUBINET_RESOLVE)
#undef CUBINET_RESOLVE
  resolve(library, CUBINET_SYMBOL_OF(cuFuncLoad), driver.cuFuncLoad);
  return nullptr;
}

// Whether this is the stub libcuda of a toolkit, which exists only to link on machines without a driver. All its
// functions return the same error.
bool is_stub(const Library& library) {
  decltype(&::cuInit) initialize = nullptr;
  return resolve(library, "cuInit", initialize) && initialize(0) == CUDA_ERROR_STUB_LIBRARY;
}

std::string text_of(const Driver& driver, CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.cuGetErrorName == nullptr || driver.cuGetErrorName(result, &name) != CUDA_SUCCESS) name = nullptr;
  if (driver.cuGetErrorString == nullptr || driver.cuGetErrorString(result, &text) != CUDA_SUCCESS) text = nullptr;
  std::string answer = name != nullptr ? name : "CUDA error " + std::to_string(static_cast<int>(result));
  if (text != nullptr) answer += std::string(" (") + text + ")";
  return answer;
}

Expected<void> initialize(const Driver& driver) {
  const CUresult result = driver.cuInit(0);
  if (result == CUDA_SUCCESS) return {};
  const std::string reason = text_of(driver, result);
  if (result == CUDA_ERROR_NO_DEVICE) {
    return fail(ErrorCode::driver_missing, "the CUDA driver " + driver.path + " sees no GPU: " + reason +
                                               "; check CUDA_VISIBLE_DEVICES and the container's device access");
  }
  return fail(ErrorCode::driver_missing,
              "the CUDA driver " + driver.path + " does not start: " + reason + "; " + kInstallDriver);
}

}  // namespace

Expected<std::shared_ptr<const Driver>> Driver::open() {
  Refusals refusals;
  const Library library = open_first({"libcuda.so.1", "libcuda.so"}, refusals);
  if (library.handle == nullptr && !refusals.first.empty()) {
    return fail(ErrorCode::driver_missing,
                "no CUDA driver: the loader refuses " + refusals.first + "; " + kInstallDriver, refusals.all);
  }
  if (library.handle == nullptr) {
    return fail(ErrorCode::driver_missing,
                std::string("no CUDA driver: tried libcuda.so.1 and libcuda.so through the loader's search path; ") +
                    kInstallDriver,
                refusals.all);
  }
  if (is_stub(library)) {
    return fail(ErrorCode::driver_missing, "no CUDA driver: " + library.path +
                                               " is the stub of a CUDA toolkit, which programs are linked against and "
                                               "which runs nothing; take its folder out of LD_LIBRARY_PATH and the "
                                               "loader's configuration, and " +
                                               kInstallDriver);
  }
  auto driver = std::make_shared<Driver>();
  driver->path = library.path;
  if (const char* missing = fill(library, *driver)) {
    return fail(ErrorCode::driver_missing, "the CUDA driver " + library.path + " is too old: it has no " + missing +
                                               "; install a driver of CUDA 12.0 or later");
  }
  if (auto started = initialize(*driver); !started) return propagate(started);
  return driver;
}

int Driver::version() const noexcept {
  int number = 0;
  return cuDriverGetVersion != nullptr && cuDriverGetVersion(&number) == CUDA_SUCCESS ? number : 0;
}

Expected<void> Driver::failure(CUresult result, std::string_view what) const {
  return fail(ErrorCode::driver_failed, std::string(what) + " failed: " + text_of(*this, result));
}

namespace {

Expected<DeviceInfo> describe(const Driver& driver, CUdevice device, int ordinal) {
  DeviceInfo info;
  info.ordinal = ordinal;
  std::array<char, 256> name{};
  if (auto ok =
          driver.check(driver.cuDeviceGetName(name.data(), static_cast<int>(name.size()), device), "cuDeviceGetName");
      !ok)
    return propagate(ok);
  info.name = name.data();
  const std::array<std::pair<int*, CUdevice_attribute>, 3> wanted = {
      std::pair{&info.num_sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
      std::pair{&info.compute_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
      std::pair{&info.compute_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR}};
  for (const auto& [value, attribute] : wanted) {
    auto ok = driver.check(driver.cuDeviceGetAttribute(value, attribute, device), "cuDeviceGetAttribute");
    if (!ok) return propagate(ok);
  }
  if (auto ok = driver.check(driver.cuDeviceTotalMem(&info.total_bytes, device), "cuDeviceTotalMem"); !ok)
    return propagate(ok);
  return info;
}

Expected<CUdevice> find_device(const Driver& driver, int ordinal) {
  int count = 0;
  if (auto ok = driver.check(driver.cuDeviceGetCount(&count), "cuDeviceGetCount"); !ok) return propagate(ok);
  if (ordinal < 0 || ordinal >= count) {
    return fail(ErrorCode::driver_missing, "there is no CUDA device " + std::to_string(ordinal) +
                                               ": this process sees " + std::to_string(count) + ", counted from 0");
  }
  CUdevice device = 0;
  if (auto ok = driver.check(driver.cuDeviceGet(&device, ordinal), "cuDeviceGet"); !ok) return propagate(ok);
  return device;
}

}  // namespace

Expected<bool> is_capturing(const Driver& driver, CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = driver.cuStreamIsCapturing(stream, &status);
  if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return true;
  return driver.check(result, "cuStreamIsCapturing").map([&] { return status != CU_STREAM_CAPTURE_STATUS_NONE; });
}

Expected<DeviceInfo> describe_device(const Driver& driver, int ordinal) {
  const auto device = find_device(driver, ordinal);
  if (!device) return propagate(device);
  return describe(driver, *device, ordinal);
}

Expected<DeviceContext> DeviceContext::retain(std::shared_ptr<const Driver> driver, int ordinal) {
  const auto device = find_device(*driver, ordinal);
  if (!device) return propagate(device);
  auto info = describe(*driver, *device, ordinal);
  if (!info) return propagate(info);
  CUcontext context = nullptr;
  if (auto ok = driver->check(driver->cuDevicePrimaryCtxRetain(&context, *device), "cuDevicePrimaryCtxRetain"); !ok)
    return propagate(ok);
  return DeviceContext(std::move(driver), *device, context, std::move(*info));
}

Expected<std::shared_ptr<const DeviceContext>> open_device(int ordinal) {
  auto driver = Driver::open();
  if (!driver) return propagate(driver);
  auto device = DeviceContext::retain(std::move(*driver), ordinal);
  if (!device) return propagate(device);
  return std::make_shared<const DeviceContext>(std::move(*device));
}

DeviceContext::DeviceContext(std::shared_ptr<const Driver> driver, CUdevice device, CUcontext context,
                             DeviceInfo info) noexcept
    : driver_(std::move(driver)), device_(device), context_(context), info_(std::move(info)) {}

DeviceContext::DeviceContext(DeviceContext&& other) noexcept
    : driver_(std::move(other.driver_)),
      device_(other.device_),
      context_(std::exchange(other.context_, nullptr)),
      info_(std::move(other.info_)) {}

DeviceContext& DeviceContext::operator=(DeviceContext&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(device_, other.device_);
  std::swap(context_, other.context_);
  std::swap(info_, other.info_);
  return *this;
}

DeviceContext::~DeviceContext() {
  if (context_ != nullptr) driver_->cuDevicePrimaryCtxRelease(device_);
}

}  // namespace cubinet::jit
