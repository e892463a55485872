#include "python/src/checks.hpp"

#include <algorithm>
#include <string>

#include "cubinet/scales.hpp"
#include "python/src/python_api.hpp"

namespace cubinet::python {
namespace {

// "(4096, 56)", "(64,)", as Python writes a tuple.
std::string tuple_text(const std::int64_t* extents, std::int32_t rank) {
  std::string text = "(";
  for (std::int32_t i = 0; i < std::min(rank, kMaxRank); ++i) {
    text += std::to_string(extents[i]) + (i + 1 < rank ? ", " : rank == 1 ? "," : "");
  }
  return text + (rank > kMaxRank ? "...)" : ")");
}

bool refuse(const char* name, const std::string& what) {
  PyErr_Format(PyExc_ValueError, "%s: %s", name, what.c_str());
  return false;
}

const char* type_name(ElementType type) {
  switch (type) {
    case ElementType::bf16:
      return "torch.bfloat16";
    case ElementType::fp8:
      return "torch.float8_e4m3fn";
    case ElementType::fp32:
      return "torch.float32";
    case ElementType::int32:
      return "torch.int32";
    case ElementType::other:
      break;
  }
  return "another type";
}

bool refuse_type(const Operand& operand, ElementType wanted) {
  const Reference came(describe_type(operand.object));
  const bool exponents = wanted == ElementType::fp32 && operand.view.type == ElementType::int32;
  PyErr_Format(PyExc_TypeError, "%s: expected %s, got %S%s", operand.name, type_name(wanted), came.get(),
               exponents ? " (packed UE8M0 scales belong to sm_100)" : "");
  return false;
}

std::int64_t elements(const TensorView& view) {
  std::int64_t count = 1;
  for (std::int32_t i = 0; i < view.rank; ++i) count *= view.shape[i];
  return count;
}

// Writes the strides of a row-major tensor of this shape without gaps.
void contiguous_strides(const TensorView& view, std::int64_t* strides) {
  std::int64_t step = 1;
  for (std::int32_t i = view.rank - 1; i >= 0; --i) {
    strides[i] = step;
    step *= view.shape[i];
  }
}

// Whether the strides address the same elements. That of a dimension of size 1 does not matter.
bool same_strides(const TensorView& view, const std::int64_t* wanted) {
  for (std::int32_t i = 0; i < view.rank; ++i) {
    if (view.shape[i] != 1 && view.strides[i] != wanted[i]) return false;
  }
  return true;
}

std::string device_text(const TensorView& view) {
  return view.on_cuda ? "cuda:" + std::to_string(view.device) : "the host";
}

bool is_aligned(const void* data, std::uintptr_t alignment) {
  return reinterpret_cast<std::uintptr_t>(data) % alignment == 0;
}

bool refuse_alignment(const Operand& operand, int alignment) {
  PyErr_Format(PyExc_ValueError, "%s: expected an address that is a multiple of %d, got %p", operand.name, alignment,
               operand.view.data);
  return false;
}

}  // namespace

bool read(Operand& operand, const char* name, PyObject* object, ElementType type, std::int32_t rank,
          const char* symbols) {
  operand.name = name;
  operand.object = object;
  if (!read_tensor(object, name, operand.view)) return false;
  if (operand.view.type != type) return refuse_type(operand, type);
  if (operand.view.rank == rank) return true;
  return refuse(
      name, std::string("expected shape ") + symbols + ", got " + tuple_text(operand.view.shape, operand.view.rank));
}

bool check_shape(const Operand& operand, std::initializer_list<std::int64_t> shape) {
  if (std::equal(shape.begin(), shape.end(), operand.view.shape)) return true;
  return refuse(operand.name, "expected shape " + tuple_text(shape.begin(), static_cast<std::int32_t>(shape.size())) +
                                  ", got " + tuple_text(operand.view.shape, operand.view.rank));
}

bool check_contiguous(const Operand& operand) {
  const TensorView& view = operand.view;
  std::int64_t wanted[kMaxRank];
  contiguous_strides(view, wanted);
  if (same_strides(view, wanted) || elements(view) == 0) return true;
  return refuse(operand.name, "expected a contiguous tensor, strides " + tuple_text(wanted, view.rank) +
                                  ", got strides " + tuple_text(view.strides, view.rank));
}

bool check_device(const Operand& operand, const Operand& first) {
  const TensorView& view = operand.view;
  if (!view.on_cuda) return refuse(operand.name, "expected a tensor on a CUDA device, got one on " + device_text(view));
  if (view.device == first.view.device) return true;
  return refuse(operand.name, "expected a tensor on " + device_text(first.view) + ", where " + first.name +
                                  " is, got one on " + device_text(view));
}

bool check_aligned(const Operand& operand) {
  return is_aligned(operand.view.data, 16) || refuse_alignment(operand, 16);
}

bool check_row_scales(const Operand& operand, std::int64_t rows, bool& row_major) {
  const TensorView& view = operand.view;
  const std::int32_t last = view.rank - 1;
  const std::int64_t column = aligned_scale_rows(rows);
  std::int64_t by_rows[kMaxRank];
  contiguous_strides(view, by_rows);
  const std::int64_t by_columns[3] = {column * view.shape[last], 1, column};
  const std::int64_t* columns = by_columns + (3 - view.rank);
  const bool is_columns = same_strides(view, columns), is_rows = same_strides(view, by_rows);
  if (!is_columns && !is_rows) {
    return refuse(operand.name, "expected strides " + tuple_text(columns, view.rank) + " (column-major, aligned) or " +
                                    tuple_text(by_rows, view.rank) + " (row-major), got " +
                                    tuple_text(view.strides, view.rank));
  }
  // A single column, or a single number, has both layouts. It is used in place if it has the padding that kernels read.
  const bool padded = rows == column || view.strides[last] == column;
  row_major = is_rows && !(is_columns && padded && is_aligned(view.data, 16));
  return is_aligned(view.data, row_major ? 4 : 16) || refuse_alignment(operand, row_major ? 4 : 16);
}

}  // namespace cubinet::python
