#include "jit/prepared_gemm.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "jit/problems.hpp"

namespace cubinet::jit {
namespace {

// Rows of A: TMA takes signed 32-bit coordinates.
constexpr std::int64_t kMaxRows = std::numeric_limits<std::int32_t>::max();

bool is_masked(const Problem& problem) { return problem.layout == Layout::masked; }

const char* grouping_name(const Problem& problem) { return find_layout(problem.layout)->grouping; }

Expected<void> check_pointers(const Problem& problem, const GemmArguments& arguments) {
  if (auto checked = check_pointer("a", arguments.a, kOperandAlignment); !checked) return checked;
  if (auto checked = check_pointer("b", arguments.b, kOperandAlignment); !checked) return checked;
  if (auto checked = check_pointer("d", arguments.d, kOperandAlignment); !checked) return checked;
  return check_pointer(grouping_name(problem), arguments.grouping, alignof(std::int32_t));
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

// The layout of the activation scales. Column-major if the problem has none, because then there is nothing to
// transpose.
Expected<ScaleLayout> check_scales(const Problem& problem, const GemmArguments& arguments) {
  if (!has_scales(problem.data_type)) {
    auto none = check_no_scales(arguments.a_scales, arguments.b_scales);
    return none.map([] { return ScaleLayout::column_major; });
  }
  const auto layout = check_activation_scales(arguments.a_scales, problem, arguments.rows);
  if (!layout) return layout;
  const auto checked = check_weight_scales(arguments.b_scales, problem);
  if (!checked) return propagate(checked);
  return layout;
}

// An argument's place in device memory.
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

// All arguments that a transposition into the workspace must not overwrite.
std::array<Extent, 6> extents_of(const Problem& problem, const GemmArguments& arguments) {
  const Operands& operands = operands_of(problem.data_type);
  const std::int64_t rows = arguments.total_rows, blocks = scale_blocks(problem.k);
  return {{{"a_scales", arguments.a_scales.data, 4 * rows * blocks},
           {"b_scales", arguments.b_scales.data, 4 * problem.groups * scale_blocks(problem.n) * blocks},
           {"a", arguments.a, element_bytes(operands.a) * rows * problem.k},
           {"b", arguments.b, element_bytes(operands.b) * problem.groups * problem.n * problem.k},
           {"d", arguments.d, element_bytes(operands.d) * rows * problem.n},
           {grouping_name(problem), arguments.grouping, 4 * (is_masked(problem) ? problem.groups : arguments.rows)}}};
}

// Whether row-major scales can be transposed into the workspace without overwriting `operands`. `needed`: bytes that
// the transposed scales take.
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

Expected<const GemmKernel*> PreparedGemm::obtain_kernel(std::int64_t m, CUstream stream) const {
  const std::size_t row = table_->index_of(m);
  if (const GemmKernel* kernel = table_->ready(row)) [[likely]]
    return kernel;
  return misses_->on_miss(table_, row, m, stream);
}

Expected<ScaleTensor> PreparedGemm::transpose_scales(const GemmArguments& arguments, CUstream stream) const {
  if (quantization_ == nullptr) {
    return fail(ErrorCode::not_prepared,
                "row-major a_scales need the kernels of fp8_quantization, which are not ready; pass them column-major");
  }
  const bool masked = is_masked(problem());
  const std::int64_t groups = masked ? problem().groups : 1, blocks = scale_blocks(problem().k);
  const ScaleWorkspace& workspace = arguments.workspace;
  auto checked = check_workspace(workspace, scale_workspace_bytes(groups, arguments.rows, problem().k),
                                 extents_of(problem(), arguments));
  if (!checked) return propagate(checked);
  const auto* const row_counts = masked ? arguments.grouping : nullptr;
  auto launched = quantization_->transpose_scales(device_address(arguments.a_scales.data),
                                                  device_address(workspace.data), device_address(row_counts), groups,
                                                  arguments.rows, blocks, stream, arguments.num_sms);
  if (!launched) return propagate(launched);
  return column_major_scales(static_cast<const float*>(workspace.data), arguments.rows, problem().k,
                             masked ? groups : 0);
}

Expected<void> PreparedGemm::launch_for(std::int64_t m, const GemmArguments& arguments, CUstream stream) const {
  if (auto checked = check_pointers(problem(), arguments); !checked) return checked;
  if (arguments.num_sms < 0) return refuse_negative("num_sms", arguments.num_sms);
  const auto layout = check_scales(problem(), arguments);
  if (!layout) return propagate(layout);
  const CurrentContext current(*device_);
  if (auto entered = current.status(); !entered) return entered;
  const auto kernel = obtain_kernel(m, stream);
  if (!kernel) return propagate(kernel);
  if (*layout == ScaleLayout::column_major) return (*kernel)->launch(problem(), arguments, stream);
  const auto transposed = transpose_scales(arguments, stream);
  if (!transposed) return propagate(transposed);
  GemmArguments ready = arguments;
  ready.a_scales = *transposed;
  return (*kernel)->launch(problem(), ready, stream);
}

Expected<void> PreparedGemm::launch(const ContiguousArguments& arguments, CUstream stream) const {
  if (is_masked(problem())) return refuse_layout("contiguous", "masked");
  const std::int64_t m = arguments.m;
  if (m < 0) return refuse_negative("m", m);
  if (m == 0) return {};
  if (m > kMaxRows) return refuse_rows("m", m);
  if (const MRange all = table_->range(); m < all.first || m > all.last) return refuse_m(m, all);
  return launch_for(m, gemm_arguments(problem(), arguments), stream);
}

Expected<void> PreparedGemm::launch(const MaskedArguments& arguments, CUstream stream) const {
  if (!is_masked(problem())) return refuse_layout("masked", "contiguous");
  if (arguments.capacity < 0) return refuse_negative("capacity", arguments.capacity);
  if (arguments.capacity == 0) return {};
  if (arguments.capacity > kMaxRows / problem().groups) return refuse_rows("capacity", arguments.capacity);
  return launch_for(std::clamp(arguments.expected_m, range_.first, range_.last), gemm_arguments(problem(), arguments),
                    stream);
}

Expected<void> PreparedGemm::check_m_indices(const std::int32_t* m_indices, std::int64_t m) const {
  if (is_masked(problem())) return refuse_layout("contiguous", "masked");
  if (m < 0) return refuse_negative("m", m);
  if (m == 0) return {};
  if (m > kMaxRows) return refuse_rows("m", m);
  if (auto checked = check_pointer("m_indices", m_indices, alignof(std::int32_t)); !checked) return checked;
  const CurrentContext current(*device_);
  if (auto entered = current.status(); !entered) return entered;
  const Driver& driver = device_->driver();
  // A kernel on some stream may still be writing m_indices.
  if (auto done = driver.check(driver.cuCtxSynchronize(), "cuCtxSynchronize"); !done) return done;
  std::vector<std::int32_t> copy(static_cast<std::size_t>(m));
  const CUresult copied = driver.cuMemcpyDtoH(copy.data(), device_address(m_indices), copy.size() * sizeof(copy[0]));
  if (auto read = driver.check(copied, "reading m_indices back"); !read) return read;
  return jit::check_m_indices(copy, problem().groups);
}

}  // namespace cubinet::jit
