// Where in a config.json the language model stands, and which other towers have experts.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "util/expected.hpp"
#include "warmup/planning/model_fields.hpp"

namespace cubinet::warmup {

bool names_experts(const nlohmann::json& object);

// The objects that describe the language model: those of language_places() that are there, the top level and other
// containers where they name experts themselves; the top level where there is nothing else. At least one. An error: one
// that is no object.
Expected<Places> language_model(const nlohmann::json& top, const std::string& origin);

// The paths of other objects that name experts: "talker_config.text_config".
std::vector<std::string> other_towers(const nlohmann::json& top, const Places& places);

// What in the language model's objects reads as if it shaped the experts or their type and is not understood: "key
// value". Of what is alike in several objects the first is named.
std::vector<std::string> unknown_expert_keys(const Places& places);

}  // namespace cubinet::warmup
