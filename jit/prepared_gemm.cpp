#include "jit/prepared_gemm.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "jit/labels.hpp"
#include "jit/operands.hpp"

namespace cubinet::jit {
namespace {

// Rows of A: the coordinates that TMA takes are signed 32-bit numbers.
constexpr std::int64_t kMaxRows = std::numeric_limits<std::int32_t>::max();

// Checks the three operands, and `rows` (named `rows_name`): which group a row belongs to.
Expected<void> check_pointers(const void* a, const void* b, const void* d, const std::int32_t* rows,
                              const char* rows_name) {
  if (auto checked = check_pointer("a", a, kOperandAlignment); !checked) return checked;
  if (auto checked = check_pointer("b", b, kOperandAlignment); !checked) return checked;
  if (auto checked = check_pointer("d", d, kOperandAlignment); !checked) return checked;
  return check_pointer(rows_name, rows, alignof(std::int32_t));
}

tl::unexpected<Error> refuse_layout(const char* given, const char* prepared) {
  return fail(ErrorCode::invalid_argument, std::string("the problem was prepared for the ") + prepared +
                                               " layout, the arguments are for the " + given + " one");
}

tl::unexpected<Error> refuse_m(std::int64_t m, MRange range) {
  return fail(ErrorCode::not_prepared, "m = " + std::to_string(m) + " lies outside the prepared range " +
                                           std::to_string(range.first) + ".." + std::to_string(range.last) +
                                           "; prepare the problem for a range that holds it");
}

tl::unexpected<Error> refuse_rows(const char* what, std::int64_t rows) {
  return fail(ErrorCode::invalid_argument, std::string(what) + " is " + std::to_string(rows) +
                                               ": A has more rows than the " + std::to_string(kMaxRows) +
                                               " that TMA can address");
}

// The layout of the activation scales. A BF16 problem has none; the kernels take what they are given.
template <class Arguments>
Expected<ScaleLayout> check_scales(const Problem& problem, std::int64_t rows, const Arguments& arguments) {
  if (problem.data_type == DataType::bf16) {
    auto none = check_no_scales(arguments.a_scales, arguments.b_scales);
    return none.map([] { return ScaleLayout::column_major; });
  }
  const auto layout = check_activation_scales(arguments.a_scales, problem, rows);
  if (!layout) return layout;
  const auto checked = check_weight_scales(arguments.b_scales, problem);
  if (!checked) return propagate(checked);
  return layout;
}

// An operand's place in device memory.
struct Extent {
  const char* name;
  const void* data;
  std::int64_t bytes;
};

bool overlap(const ScaleWorkspace& workspace, std::int64_t bytes, const Extent& operand) {
  const auto first = reinterpret_cast<std::uintptr_t>(workspace.data);
  const auto second = reinterpret_cast<std::uintptr_t>(operand.data);
  return first < second + static_cast<std::uintptr_t>(operand.bytes) &&
         second < first + static_cast<std::uintptr_t>(bytes);
}

// What a transposition into the workspace must leave alone. `rows`: of A and D, all groups.
template <class Arguments>
std::array<Extent, 6> operands_of(const Problem& problem, std::int64_t rows, const Arguments& arguments,
                                  const Extent& row_info) {
  const std::int64_t blocks = scale_blocks(problem.k);
  return {{{"a_scales", arguments.a_scales.data, 4 * rows * blocks},
           {"b_scales", arguments.b_scales.data, 4 * problem.groups * scale_blocks(problem.n) * blocks},
           {"a", arguments.a, rows * problem.k},
           {"b", arguments.b, problem.groups * problem.n * problem.k},
           {"d", arguments.d, 2 * rows * problem.n},
           row_info}};
}

Extent row_info_of(const Problem&, const ContiguousArguments& arguments) {
  return {"m_indices", arguments.m_indices, 4 * arguments.m};
}
Extent row_info_of(const Problem& problem, const MaskedArguments& arguments) {
  return {"masked_m", arguments.masked_m, std::int64_t{4} * problem.groups};
}

// Valid rows per group, where the device has such numbers.
const std::int32_t* row_counts_of(const ContiguousArguments&) { return nullptr; }
const std::int32_t* row_counts_of(const MaskedArguments& arguments) { return arguments.masked_m; }

// That row-major scales can be transposed into the workspace, which takes `needed` bytes, without harm to `operands`.
Expected<void> check_workspace(const ScaleWorkspace& workspace, std::int64_t needed, std::span<const Extent> operands) {
  if (workspace.data == nullptr || workspace.bytes < needed) {
    const std::string given =
        workspace.data == nullptr ? "is null" : "has " + std::to_string(workspace.bytes) + " bytes";
    return fail(ErrorCode::invalid_argument, "workspace " + given + ": row-major a_scales need " +
                                                 std::to_string(needed) + " bytes to be transposed into");
  }
  for (const Extent& operand : operands) {
    if (overlap(workspace, needed, operand)) {
      return fail(ErrorCode::invalid_argument,
                  std::string("workspace overlaps ") + operand.name + ": row-major a_scales are transposed into it");
    }
  }
  return check_pointer("workspace", workspace.data, kOperandAlignment);
}

}  // namespace

PreparedGemm::PreparedGemm(std::shared_ptr<const DeviceContext> device, MRange range,
                           std::shared_ptr<KernelTable> table, std::shared_ptr<const QuantizationKernels> quantization,
                           std::shared_ptr<MissHandler> misses)
    : device_(std::move(device)),
      range_(range),
      table_(std::move(table)),
      quantization_(std::move(quantization)),
      misses_(std::move(misses)) {}

Expected<const LaunchableKernel*> PreparedGemm::obtain_kernel(std::int64_t m, CUstream stream) const {
  const std::size_t row = table_->index_of(m);
  if (const LaunchableKernel* kernel = table_->ready(row)) [[likely]]
    return kernel;
  return misses_->on_miss(table_, row, m, stream);
}

template <class Arguments>
Expected<ScaleTensor> PreparedGemm::transpose_scales(std::int64_t rows, const Arguments& arguments,
                                                     CUstream stream) const {
  if (quantization_ == nullptr) {
    return fail(ErrorCode::not_prepared,
                "row-major a_scales need the kernels of fp8_quantization, which are not ready; pass them column-major");
  }
  const bool masked = problem().layout == Layout::masked;
  const std::int64_t groups = masked ? problem().groups : 1, blocks = scale_blocks(problem().k);
  const ScaleWorkspace& workspace = arguments.workspace;
  auto checked = check_workspace(workspace, scale_workspace_bytes(groups, rows, problem().k),
                                 operands_of(problem(), groups * rows, arguments, row_info_of(problem(), arguments)));
  if (!checked) return propagate(checked);
  auto launched =
      quantization_->transpose_scales(device_address(arguments.a_scales.data), device_address(workspace.data),
                                      device_address(row_counts_of(arguments)), groups, rows, blocks, stream);
  if (!launched) return propagate(launched);
  return column_major_scales(static_cast<const float*>(workspace.data), rows, problem().k, masked ? groups : 0);
}

template <class Arguments>
Expected<void> PreparedGemm::launch_for(std::int64_t m, std::int64_t rows, const Arguments& arguments,
                                        CUstream stream) const {
  const auto layout = check_scales(problem(), rows, arguments);
  if (!layout) return propagate(layout);
  const CurrentContext current(*device_);
  if (auto entered = current.status(); !entered) return entered;
  const auto kernel = obtain_kernel(m, stream);
  if (!kernel) return propagate(kernel);
  const auto launch = [&](const Arguments& ready) {
    return jit::launch(device_->driver(), **kernel, problem(), device_->info().num_sms, ready, stream);
  };
  if (*layout == ScaleLayout::column_major) return launch(arguments);
  const auto transposed = transpose_scales(rows, arguments, stream);
  if (!transposed) return propagate(transposed);
  Arguments ready = arguments;
  ready.a_scales = *transposed;
  return launch(ready);
}

Expected<void> PreparedGemm::launch(const ContiguousArguments& arguments, CUstream stream) const {
  if (problem().layout != Layout::contiguous) return refuse_layout("contiguous", "masked");
  const std::int64_t m = arguments.m;
  if (m < 0) return refuse_negative("m", m);
  if (m == 0) return {};
  if (m > kMaxRows) return refuse_rows("m", m);
  if (const MRange all = table_->range(); m < all.first || m > all.last) return refuse_m(m, all);
  if (auto checked = check_pointers(arguments.a, arguments.b, arguments.d, arguments.m_indices, "m_indices"); !checked)
    return checked;
  return launch_for(m, m, arguments, stream);
}

Expected<void> PreparedGemm::launch(const MaskedArguments& arguments, CUstream stream) const {
  if (problem().layout != Layout::masked) return refuse_layout("masked", "contiguous");
  if (arguments.capacity < 0) return refuse_negative("capacity", arguments.capacity);
  if (arguments.capacity == 0) return {};
  if (arguments.capacity > kMaxRows / problem().groups) return refuse_rows("capacity", arguments.capacity);
  if (auto checked = check_pointers(arguments.a, arguments.b, arguments.d, arguments.masked_m, "masked_m"); !checked)
    return checked;
  return launch_for(std::clamp(arguments.expected_m, range_.first, range_.last), arguments.capacity, arguments, stream);
}

Expected<void> PreparedGemm::check_labels(const std::int32_t* m_indices, std::int64_t m) const {
  if (problem().layout != Layout::contiguous) return refuse_layout("contiguous", "masked");
  if (m < 0) return refuse_negative("m", m);
  if (m == 0) return {};
  if (m > kMaxRows) return refuse_rows("m", m);
  if (auto checked = check_pointer("m_indices", m_indices, alignof(std::int32_t)); !checked) return checked;
  const CurrentContext current(*device_);
  if (auto entered = current.status(); !entered) return entered;
  const Driver& driver = device_->driver();
  // The labels may still be in the making on some stream.
  if (auto done = driver.check(driver.cuCtxSynchronize(), "cuCtxSynchronize"); !done) return done;
  std::vector<std::int32_t> labels(static_cast<std::size_t>(m));
  const auto source = device_address(m_indices);
  const CUresult copied = driver.cuMemcpyDtoH(labels.data(), source, labels.size() * sizeof(std::int32_t));
  if (auto read = driver.check(copied, "reading m_indices back"); !read) return read;
  return check_label_rows(labels, problem().groups);
}

}  // namespace cubinet::jit
