#include "warmup/planning/derivation.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "util/json_text.hpp"

namespace cubinet::warmup {

using util::json_array;
using util::json_object;
using util::json_string;

std::string derivation_text(const std::vector<Derivation>& derivation) {
  std::vector<std::string> numbers;
  std::size_t longest = 0;
  for (const Derivation& one : derivation) {
    numbers.push_back(fmt::format("{} {}", one.quantity, one.value));
    longest = std::max(longest, numbers.back().size());
  }
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    text += fmt::format("{:<{}} = {}\n", numbers[i], longest, derivation[i].how);
  }
  return text;
}

std::string derivation_json(const std::vector<Derivation>& derivation) {
  std::vector<std::string> lines;
  for (const Derivation& one : derivation) {
    lines.push_back(json_object({{"quantity", json_string(one.quantity)},
                                 {"value", std::to_string(one.value)},
                                 {"how", json_string(one.how)}}));
  }
  return json_array(lines);
}

std::string notes_json(const std::vector<std::string>& notes) {
  std::vector<std::string> texts;
  for (const std::string& note : notes) texts.push_back(json_string(note));
  return json_array(texts);
}

}  // namespace cubinet::warmup
