// m_indices of a single group, for the dense calls: zeros in device memory.
#pragma once

#include <cstdint>

#include "python/src/tensor_view.hpp"

namespace cubinet::python {

// At least `rows` zeros on the device of `view`. Nothing ever writes or frees them. Null with an exception set:
// `capturing` if more zeros must be allocated and `stream` is being captured, or what the framework's allocator raised.
const std::int32_t* zero_indices(const TensorView& view, std::int64_t rows, void* stream);

}  // namespace cubinet::python
