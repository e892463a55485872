// How many threads are worth starting.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace cubinet::util {

// The cores that this process may use, at least 1: those of its affinity, or fewer where its control group, or one
// above it, has a smaller CPU quota. `root` is the folder that holds proc/ and sys/.
int usable_cores(const std::filesystem::path& root = "/");

// The whole cores that a control group's cpu.max grants, or version 1's quota and period in that form ("150000 100000"
// -> 2, rounded up); nullopt when the text sets no limit ("max 100000", "-1 100000") or is not of that form.
std::optional<int> cores_of_quota(std::string_view cpu_max);

}  // namespace cubinet::util
