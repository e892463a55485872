// One thread of a process at a time uses SQLite, and a fork waits until none does: a child that inherited a connection,
// or SQLite's locks in the middle of a call, could neither use nor close it.
#pragma once

#include <mutex>

namespace cubinet::cache {

// Hold the result for as long as a connection is open.
[[nodiscard]] std::unique_lock<std::mutex> enter_index();

}  // namespace cubinet::cache
