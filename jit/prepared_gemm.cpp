#include "jit/prepared_gemm.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "jit/labels.hpp"

namespace cubinet::jit {
namespace {

// What TMA and 16-byte stores ask of an operand's address.
constexpr std::uintptr_t kOperandAlignment = 16;

// Rows of A: the coordinates that TMA takes are signed 32-bit numbers.
constexpr std::int64_t kMaxRows = std::numeric_limits<std::int32_t>::max();

bool usable(const void* pointer, std::uintptr_t alignment) {
  return pointer != nullptr && reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

tl::unexpected<Error> refuse_pointer(const char* name, const void* pointer, std::uintptr_t alignment) {
  const std::string reason =
      pointer == nullptr ? " is null" : " is not aligned to " + std::to_string(alignment) + " bytes";
  return fail(ErrorCode::invalid_argument, std::string(name) + reason);
}

// Checks the three operands, and `rows` (named `rows_name`): which group a row belongs to.
Expected<void> check_pointers(const void* a, const void* b, const void* d, const std::int32_t* rows,
                              const char* rows_name) {
  if (!usable(a, kOperandAlignment)) return refuse_pointer("a", a, kOperandAlignment);
  if (!usable(b, kOperandAlignment)) return refuse_pointer("b", b, kOperandAlignment);
  if (!usable(d, kOperandAlignment)) return refuse_pointer("d", d, kOperandAlignment);
  if (!usable(rows, alignof(std::int32_t))) return refuse_pointer(rows_name, rows, alignof(std::int32_t));
  return {};
}

tl::unexpected<Error> refuse_layout(const char* given, const char* prepared) {
  return fail(ErrorCode::invalid_argument, std::string("the problem was prepared for the ") + prepared +
                                               " layout, the arguments are for the " + given + " one");
}

tl::unexpected<Error> refuse_negative(const char* name, std::int64_t value) {
  return fail(ErrorCode::invalid_argument, std::string(name) + " is negative: " + std::to_string(value));
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

}  // namespace

PreparedGemm::PreparedGemm(std::shared_ptr<const DeviceContext> device, const Problem& problem,
                           std::vector<PreparedRange> ranges)
    : device_(std::move(device)), problem_(problem), ranges_(std::move(ranges)) {}

const LaunchableKernel& PreparedGemm::kernel_for(std::int64_t m) const noexcept {
  const auto found = std::lower_bound(ranges_.begin(), ranges_.end(), m,
                                      [](const PreparedRange& entry, std::int64_t wanted) {
                                        return entry.range.last < wanted;
                                      });
  return found->kernel->launchable;
}

template <class Arguments>
Expected<void> PreparedGemm::launch_for(std::int64_t m, const Arguments& arguments, CUstream stream) const {
  const CurrentContext current(*device_);
  if (auto entered = current.status(); !entered) return entered;
  return jit::launch(device_->driver(), kernel_for(m), problem_, device_->info().num_sms, arguments, stream);
}

Expected<void> PreparedGemm::launch(const ContiguousArguments& arguments, CUstream stream) const {
  if (problem_.layout != Layout::contiguous) return refuse_layout("contiguous", "masked");
  const std::int64_t m = arguments.m;
  if (m < 0) return refuse_negative("m", m);
  if (m == 0) return {};
  if (m > kMaxRows) return refuse_rows("m", m);
  if (const MRange all = range(); m < all.first || m > all.last) return refuse_m(m, all);
  if (auto checked = check_pointers(arguments.a, arguments.b, arguments.d, arguments.m_indices, "m_indices"); !checked)
    return checked;
  return launch_for(m, arguments, stream);
}

Expected<void> PreparedGemm::launch(const MaskedArguments& arguments, CUstream stream) const {
  if (problem_.layout != Layout::masked) return refuse_layout("masked", "contiguous");
  if (arguments.capacity < 0) return refuse_negative("capacity", arguments.capacity);
  if (arguments.capacity == 0) return {};
  if (arguments.capacity > kMaxRows / problem_.groups)
    return refuse_rows("capacity", arguments.capacity);
  if (auto checked = check_pointers(arguments.a, arguments.b, arguments.d, arguments.masked_m, "masked_m"); !checked)
    return checked;
  const MRange all = range();
  return launch_for(std::clamp(arguments.expected_m, all.first, all.last), arguments, stream);
}

Expected<void> PreparedGemm::check_labels(const std::int32_t* m_indices, std::int64_t m) const {
  if (problem_.layout != Layout::contiguous) return refuse_layout("contiguous", "masked");
  if (m < 0) return refuse_negative("m", m);
  if (m == 0) return {};
  if (m > kMaxRows) return refuse_rows("m", m);
  if (!usable(m_indices, alignof(std::int32_t)))
    return refuse_pointer("m_indices", m_indices, alignof(std::int32_t));
  const CurrentContext current(*device_);
  if (auto entered = current.status(); !entered) return entered;
  const Driver& driver = device_->driver();
  // The labels may still be in the making on some stream.
  if (auto done = driver.check(driver.cuCtxSynchronize(), "cuCtxSynchronize"); !done) return done;
  std::vector<std::int32_t> labels(static_cast<std::size_t>(m));
  const auto source = reinterpret_cast<CUdeviceptr>(m_indices);
  const CUresult copied = driver.cuMemcpyDtoH(labels.data(), source, labels.size() * sizeof(std::int32_t));
  if (auto read = driver.check(copied, "reading m_indices back"); !read) return read;
  return check_label_rows(labels, problem_.groups);
}

}  // namespace cubinet::jit
