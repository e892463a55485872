#include "fake_gpu.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "cubinet/scales.hpp"
#include "unit/jit/fake_driver.hpp"
#include "warmup/execution/host_quantization.hpp"
#include "warmup/execution/row_plan.hpp"
#include "warmup/execution/verification_kernels.hpp"

namespace cubinet::test {
namespace {

FakeGpu gpu;
bool gemm_launched = false;
decltype(jit::Driver::cuLaunchKernel) note_kernel = nullptr;
decltype(jit::Driver::cuLaunchKernelEx) note_gemm = nullptr;
decltype(jit::Driver::cuLibraryUnload) note_unload = nullptr;

constexpr std::size_t kGranule = std::size_t{2} << 20;

std::size_t used_bytes() {
  std::size_t used = static_cast<std::size_t>(modules_loaded()) * kGranule;
  for (const auto& [address, bytes] : gpu.allocations) used += (bytes + kGranule - 1) / kGranule * kGranule;
  gpu.peak_bytes = std::max(gpu.peak_bytes, used);
  return used;
}

void note_context() { gpu.lost_context = gpu.lost_context || fake_device().current != fake_context(); }

bool hung() { return gpu.stalls || (gpu.hangs && gemm_launched); }

CUresult state() { return gemm_launched ? gpu.faults : CUDA_SUCCESS; }

template <class T>
T* at(std::uint64_t address) {
  return reinterpret_cast<T*>(address);
}

// The value of a kernel's parameter.
template <class T>
T parameter(void** parameters, std::size_t index) {
  T value{};
  std::memcpy(&value, parameters[index], sizeof value);
  return value;
}

// Reports that every listed row agrees with the reference, or with `wrong` that it does not.
void check_product(void** parameters, bool fp8, unsigned tiles, bool wrong) {
  const std::size_t first = fp8 ? 6 : 4;
  const auto* tile = at<warmup::RowTile>(parameter<std::uint64_t>(parameters, first));
  const auto n = parameter<std::uint64_t>(parameters, first + 1);
  auto* sums = at<warmup::GroupSums>(parameter<std::uint64_t>(parameters, first + 4));
  for (unsigned i = 0; i < tiles; ++i, ++tile) {
    warmup::GroupSums& group = sums[tile->group];
    group.compared += static_cast<std::uint64_t>(tile->count) * n;
    group.xx += 1;
    group.yy += 1;
    group.xy += wrong ? 0.9 : 1;
  }
}

template <class T>
std::vector<T> copy_of(std::uint64_t address, std::int64_t count) {
  const T* first = at<T>(address);
  return {first, first + count};
}

// Does the same as fp8_quantize_rows and fp8_quantize_weights, for row-major scales.
void quantize(const std::vector<std::uint64_t>& words, bool rows) {
  const auto sizes = [&](std::size_t i) { return static_cast<std::int64_t>(words[i]); };
  const warmup::HostQuantized host =
      rows ? warmup::quantize_rows_on_host(copy_of<std::uint16_t>(words[0], sizes(3) * sizes(4)), sizes(3), sizes(4))
           : warmup::quantize_weights_on_host(copy_of<std::uint16_t>(words[0], sizes(3) * sizes(4) * sizes(5)),
                                              sizes(3), sizes(4), sizes(5));
  std::copy(host.q.begin(), host.q.end(), at<std::uint8_t>(words[1]));
  std::copy(host.scales.begin(), host.scales.end(), at<float>(words[2]));
}

void transpose(const std::vector<std::uint64_t>& words) {
  const std::uint64_t groups = words[3], rows = words[4], blocks = words[5];
  const auto column = static_cast<std::uint64_t>(aligned_scale_rows(static_cast<std::int64_t>(rows)));
  for (std::uint64_t i = 0; i < groups * column * blocks; ++i) {
    const std::uint64_t row = i % column, block = i / column % blocks, group = i / column / blocks;
    at<float>(words[1])[i] = row < rows ? at<float>(words[0])[(group * rows + row) * blocks + block] : 0.0f;
  }
}

CUresult launch_kernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned threads_y,
                       unsigned threads_z, unsigned smem, CUstream stream, void** parameters, void** extra) {
  if (state() != CUDA_SUCCESS) return state();
  const CUresult result =
      note_kernel(function, x, y, z, threads, threads_y, threads_z, smem, stream, parameters, extra);
  const FakeLaunch& launch = fake_device().history.back();
  const bool product = launch.name.find("_product") != std::string::npos;
  const bool fp8 = launch.name == "verification_check_fp8_product";
  const bool wrong = product && gpu.wrong.find("_grouped_") != std::string::npos && launches_of(gpu.wrong) > 0;
  if (product) check_product(parameters, fp8, x, wrong);
  if (launch.name == "verification_count_writes" && gpu.strays) {
    at<warmup::WriteCounts>(parameter<std::uint64_t>(parameters, 5))->stray += 3;
  }
  if (launch.name == gpu.wrong) return result;  // does nothing
  if (launch.name == "fp8_quantize_rows") quantize(launch.parameters, true);
  if (launch.name == "fp8_quantize_weights") quantize(launch.parameters, false);
  if (launch.name == "fp8_transpose_scales") transpose(launch.parameters);
  return result;
}

CUresult launch_gemm(const CUlaunchConfig* launch, CUfunction function, void** parameters, void** extra) {
  if (state() != CUDA_SUCCESS) return state();
  gemm_launched = true;
  return note_gemm(launch, function, parameters, extra);
}

// Reserves address space; pages are allocated when they are written.
CUresult allocate(CUdeviceptr* address, std::size_t bytes) {
  note_context();
  if (state() != CUDA_SUCCESS) return state();
  if (used_bytes() + bytes > gpu.total_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  void* room = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(room);
  gpu.allocations[*address] = bytes;
  gpu.allocated.push_back(bytes);
  used_bytes();
  return CUDA_SUCCESS;
}

CUresult release(CUdeviceptr address) {
  note_context();
  gpu.touched_hung = gpu.touched_hung || hung();
  const auto found = gpu.allocations.find(address);
  if (found == gpu.allocations.end()) return CUDA_ERROR_INVALID_VALUE;
  munmap(at<void>(address), found->second);
  gpu.allocations.erase(found);
  return CUDA_SUCCESS;
}

void keep_memory(jit::Driver& driver) {
  driver.cuMemAlloc = allocate;
  driver.cuMemFree = release;
  driver.cuMemGetInfo = [](std::size_t* free, std::size_t* total) {
    *free = gpu.total_bytes - used_bytes();
    *total = gpu.total_bytes;
    return state();
  };
  driver.cuMemcpyHtoDAsync = [](CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
    return std::memcpy(at<void>(to), from, bytes), state();
  };
  driver.cuMemsetD8Async = [](CUdeviceptr to, unsigned char value, std::size_t count, CUstream) {
    return std::memset(at<void>(to), value, count), state();
  };
  driver.cuMemsetD16Async = [](CUdeviceptr to, unsigned short value, std::size_t count, CUstream) {
    return std::fill_n(at<unsigned short>(to), count, value), state();
  };
  driver.cuMemsetD32Async = [](CUdeviceptr to, unsigned value, std::size_t count, CUstream) {
    return std::fill_n(at<unsigned>(to), count, value), state();
  };
}

void keep_streams(jit::Driver& driver) {
  driver.cuStreamCreate = [](CUstream* stream, unsigned) {
    note_context();
    ++gpu.streams;
    return *stream = reinterpret_cast<CUstream>(0x77), state();
  };
  driver.cuStreamDestroy = [](CUstream) {
    note_context();
    gpu.touched_hung = gpu.touched_hung || hung();
    return --gpu.streams, CUDA_SUCCESS;
  };
  driver.cuStreamQuery = [](CUstream) { return hung() ? CUDA_ERROR_NOT_READY : state(); };
}

}  // namespace

FakeGpu& fake_gpu() { return gpu; }

std::shared_ptr<const jit::DeviceContext> make_fake_gpu() {
  for (const auto& [address, bytes] : gpu.allocations) munmap(at<void>(address), bytes);
  gpu = FakeGpu{};
  gemm_launched = false;
  auto driver = std::make_shared<jit::Driver>(*make_fake_driver());
  note_kernel = std::exchange(driver->cuLaunchKernel, launch_kernel);
  note_gemm = std::exchange(driver->cuLaunchKernelEx, launch_gemm);
  note_unload = std::exchange(driver->cuLibraryUnload, [](CUlibrary library) {
    gpu.touched_hung = gpu.touched_hung || hung();
    return note_unload(library);
  });
  keep_memory(*driver);
  keep_streams(*driver);
  auto context = jit::DeviceContext::retain(std::move(driver), 0);
  if (!context) throw std::runtime_error(context.error().message);
  return std::make_shared<const jit::DeviceContext>(std::move(*context));
}

int modules_loaded() { return static_cast<int>(fake_device().loaded.size()) - fake_device().unloaded; }

int launches_of(const std::string& part) {
  const auto& history = fake_device().history;
  return static_cast<int>(std::count_if(history.begin(), history.end(), [&](const FakeLaunch& launch) {
    return launch.name.find(part) != std::string::npos;
  }));
}

}  // namespace cubinet::test
