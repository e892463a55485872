#include "cache/claim.hpp"

#include <unistd.h>

#include <charconv>
#include <string>

#include "util/files.hpp"

namespace cubinet::cache {
namespace {

constexpr std::uint64_t longest_name = 32;

std::int64_t read_holder(const std::filesystem::path& path) {
  const auto text = util::read_file(path, longest_name, false);
  if (!text || !text->ends_with('\n')) return 0;
  std::int64_t process = 0;
  const char* end = text->data() + text->size() - 1;
  const auto parsed = std::from_chars(text->data(), end, process);
  return parsed.ec == std::errc() && parsed.ptr == end && process > 0 ? process : 0;
}

}  // namespace

Claim Claim::attempt(const Layout& layout, const Key& key, util::SystemCalls& calls) {
  const std::filesystem::path path = layout.claim(key);
  auto lock = util::FileLock::acquire(path, std::chrono::milliseconds(0), calls);
  Claim claim;
  if (!lock) return claim;
  if (*lock) {
    (*lock)->write(std::to_string(::getpid()) + "\n");
    claim.lock_.emplace(std::move(**lock));
  } else {
    claim.taken_ = true;
    claim.holder_ = read_holder(path);
  }
  return claim;
}

}  // namespace cubinet::cache
