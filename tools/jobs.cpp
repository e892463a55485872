#include "tools/jobs.hpp"

#include <fmt/format.h>

#include "tools/number.hpp"
#include "tools/output.hpp"
#include "util/machine.hpp"
#include "util/text.hpp"

namespace cubinet::tools {
namespace {

constexpr int most_jobs = 1024;

std::string room_text(const util::MemoryRoom& room) {
  return fmt::format("{} of memory are left by {}", util::format_byte_size(room.bytes), room.limit);
}

// Of jobs that were given and memory does not hold: whoever gave them may know better.
void tell_given_jobs(const jit::Jobs& jobs, const std::vector<util::MemoryRoom>& rooms) {
  constexpr const char* risk = "kernels may fail for want of memory";
  const jit::Jobs held = jit::choose_jobs(jobs.count, rooms);
  if (const auto room = jit::check_memory(rooms); !room) {
    note(fmt::format("{}; tried all the same, as --jobs says: {}", room.error().message, risk));
  } else if (held.count < jobs.count) {
    note(fmt::format("{} at a time, as --jobs says, though {}, enough for {}: {}", jobs.count, room_text(held.tightest),
                     held.count, risk));
  }
}

}  // namespace

Expected<jit::Jobs> parse_jobs(const std::string& text, const std::vector<util::MemoryRoom>& rooms) {
  if (text == "auto") return jit::choose_jobs(util::usable_cores(), rooms);
  const auto jobs = parse_number(text);
  if (jobs && *jobs >= 1 && *jobs <= most_jobs) {
    return jit::Jobs{static_cast<int>(*jobs), jit::JobsReason::given, {}};
  }
  return fail(ErrorCode::invalid_argument,
              fmt::format("--jobs: '{}' is neither auto nor a whole number from 1 to {}", text, most_jobs));
}

void tell_jobs(const jit::Jobs& jobs, const std::vector<util::MemoryRoom>& rooms) {
  if (jobs.reason == jit::JobsReason::given) return tell_given_jobs(jobs, rooms);
  if (jobs.reason != jit::JobsReason::memory || !jit::check_memory(rooms)) return;
  note(fmt::format("{} at a time, fewer than there are cores: {}; --jobs N overrules that", jobs.count,
                   room_text(jobs.tightest)));
}

}  // namespace cubinet::tools
