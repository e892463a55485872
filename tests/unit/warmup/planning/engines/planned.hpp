// Plans from launch commands, for tests of the engines' rules.
#pragma once

#include <algorithm>
#include <string>

#include "warmup/planning/engines/engine.hpp"

namespace cubinet::warmup::engines {

inline ModelFacts deepseek_v3() { return {"DeepseekV3ForCausalLM", "fp8", DataType::fp8, 7168, 2048, 256, 8, 1, 0}; }

inline Expected<LaunchPlan> plan_of(const Engine& engine, const std::string& command, const ModelFacts& facts) {
  return parse_command(engine, command).and_then([&](const LaunchCommand& parsed) {
    auto planned = engine.plan(parsed, facts);
    if (planned) planned->notes.insert(planned->notes.end(), parsed.notes.begin(), parsed.notes.end());
    return planned;
  });
}

// A line of the derivation; its value is -1 if there is none.
inline Derivation line(const LaunchPlan& plan, const std::string& quantity) {
  for (const auto& one : plan.derivation) {
    if (one.quantity == quantity) return one;
  }
  return {quantity, -1, ""};
}

inline bool notes(const LaunchPlan& plan, const std::string& text) {
  return std::any_of(plan.notes.begin(), plan.notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

}  // namespace cubinet::warmup::engines
