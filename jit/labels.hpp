// The rule that the labels of the contiguous layout keep.
#pragma once

#include <cstdint>
#include <span>

#include "util/expected.hpp"

namespace cubinet::jit {

// Whether each label is -1 or one of `groups`, and the labels other than -1 agree within each aligned block of
// contiguous_alignment() rows. invalid_argument names the first row that breaks the rule.
Expected<void> check_label_rows(std::span<const std::int32_t> labels, std::int32_t groups);

}  // namespace cubinet::jit
