// How a cabinet is opened.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "cache/limits.hpp"
#include "cache/preference.hpp"
#include "util/clock.hpp"
#include "util/system_calls.hpp"

namespace cubinet::cache {

// The referenced clock and system calls must outlive the cabinet; tests pass their own.
struct CabinetOptions {
  const util::Clock& clock = util::system_clock();
  util::SystemCalls& calls = util::system_calls();
  std::chrono::milliseconds index_patience{5000};  // how long to wait for an index that another process has locked
  Limits limits = default_limits;                  // of the root; publishing into it collects when it exceeds them
  bool promote = false;  // whether an entry that only a layer has is copied to the root when its hit is recorded
  std::filesystem::path bundle_key{};  // the public key that bundles must be signed with to be layers; empty: none
  Preference preference{};
};

// Whether a cabinet is written: `off` stands for working without a cabinet.
enum class Persistence { on, readonly, off };

// "on", "readonly" or "off".
std::string_view persistence_name(Persistence persistence);

}  // namespace cubinet::cache
