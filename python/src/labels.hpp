// Labels of a single group, for the dense calls: zeros on the device, as many as rows are asked for.
#pragma once

#include <cstdint>

#include "python/src/tensor_view.hpp"

namespace cubinet::python {

// At least `rows` zeros on the device of `view`, which nobody ever writes. Null with an exception set: `capturing`
// where more are needed than there are while `stream` is captured, and what the framework's allocator raised.
const std::int32_t* zero_labels(const TensorView& view, std::int64_t rows, void* stream);

}  // namespace cubinet::python
