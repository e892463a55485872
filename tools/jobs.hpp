// `--jobs`: how many threads compile, and what the user should know of that.
#pragma once

#include <string>
#include <vector>

#include "jit/jobs.hpp"
#include "util/expected.hpp"
#include "util/machine.hpp"

namespace cubinet::tools {

// What `text`, the option's value, comes to where `rooms` are left. invalid_argument when it is neither auto nor a
// number of threads.
Expected<jit::Jobs> parse_jobs(const std::string& text, const std::vector<util::MemoryRoom>& rooms);

// A note where memory made them fewer, or does not hold those that were given.
void tell_jobs(const jit::Jobs& jobs, const std::vector<util::MemoryRoom>& rooms);

}  // namespace cubinet::tools
