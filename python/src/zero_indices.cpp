#include "python/src/zero_indices.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "python/src/engines.hpp"
#include "python/src/python_api.hpp"

namespace cubinet::python {
namespace {

struct Zeros {
  const std::int32_t* data = nullptr;
  std::int64_t rows = 0;
};
std::vector<Zeros> zeros_of_device;  // by ordinal; guarded by the GIL

constexpr std::int64_t kLeastRows = 16384;

// Allocates zeros for more rows. The memory that they replace is not freed: launches and graphs may still read it.
bool grow(const TensorView& view, std::int64_t rows, void* stream) {
  if (cubinet_is_capturing(stream) != 0) {
    raise_error(
        CUBINET_CAPTURING,
        "a dense GEMM over more rows than any before it needs memory for m_indices while its stream is captured into "
        "a CUDA graph: call it once before the capture");
    return false;
  }
  const std::int64_t wanted =
      std::max(kLeastRows, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(rows))));
  const Reference module(PyImport_ImportModule("cubinet.deep_gemm"));
  if (!module) return false;
  Reference tensor(PyObject_CallMethod(module.get(), "_zero_indices", "iL", static_cast<int>(view.device),
                                       static_cast<long long>(wanted)));
  TensorView zeros;
  if (!tensor || !read_tensor(tensor.get(), "m_indices", zeros)) return false;
  zeros_of_device[static_cast<std::size_t>(view.device)] = {static_cast<const std::int32_t*>(zeros.data), wanted};
  tensor.release();
  return true;
}

}  // namespace

const std::int32_t* zero_indices(const TensorView& view, std::int64_t rows, void* stream) {
  const auto device = static_cast<std::size_t>(view.device);
  if (zeros_of_device.size() <= device) zeros_of_device.resize(device + 1);
  if (zeros_of_device[device].rows < rows && !grow(view, rows, stream)) return nullptr;
  return zeros_of_device[device].data;
}

}  // namespace cubinet::python
