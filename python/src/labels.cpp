#include "python/src/labels.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "python/src/engines.hpp"
#include "python/src/errors.hpp"
#include "python/src/reference.hpp"

namespace cubinet::python {
namespace {

struct Labels {
  const std::int32_t* data = nullptr;
  std::int64_t rows = 0;
};
std::vector<Labels> labels;  // by device, under the GIL

constexpr std::int64_t kLeastRows = 16384;

// Makes labels for more rows. Those that are replaced stay, since launches and graphs may still read them.
bool grow(const TensorView& view, std::int64_t rows, void* stream) {
  if (cubinet_is_capturing(stream) != 0) {
    raise_error(
        CUBINET_CAPTURING,
        "a dense GEMM over more rows than any before it needs memory for labels while its stream is captured into "
        "a CUDA graph: call it once before the capture");
    return false;
  }
  const std::int64_t wanted =
      std::max(kLeastRows, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(rows))));
  const Reference module(PyImport_ImportModule("cubinet.deep_gemm"));
  if (!module) return false;
  Reference tensor(PyObject_CallMethod(module.get(), "_zero_labels", "iL", static_cast<int>(view.device),
                                       static_cast<long long>(wanted)));
  TensorView zeros;
  if (!tensor || !read_tensor(tensor.get(), "labels", zeros)) return false;
  labels[static_cast<std::size_t>(view.device)] = {static_cast<const std::int32_t*>(zeros.data), wanted};
  tensor.release();
  return true;
}

}  // namespace

const std::int32_t* zero_labels(const TensorView& view, std::int64_t rows, void* stream) {
  const auto device = static_cast<std::size_t>(view.device);
  if (labels.size() <= device) labels.resize(device + 1);
  if (labels[device].rows < rows && !grow(view, rows, stream)) return nullptr;
  return labels[device].data;
}

}  // namespace cubinet::python
