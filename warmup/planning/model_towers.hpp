// Finds the language model in a config.json, and other towers (vision, audio) that have experts.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "util/expected.hpp"
#include "warmup/planning/model_fields.hpp"

namespace cubinet::warmup {

// Whether the object has a key for the number of experts.
bool names_experts(const nlohmann::json& object);

// The objects that describe the language model, at least one: those of language_places() that are present, the top
// level and other containers if they name experts themselves, and the top level if there is no other. Errors
// (invalid_argument): one of them is not an object.
Expected<Places> language_model(const nlohmann::json& top, const std::string& origin);

// The paths of the other objects that name experts: "talker_config.text_config".
std::vector<std::string> other_towers(const nlohmann::json& top, const Places& places);

// The members of the language model's objects, as "key value", whose names suggest that they describe the experts'
// shape or type, but which the planner does not know. Equal members of several objects are listed once.
std::vector<std::string> unknown_expert_keys(const Places& places);

}  // namespace cubinet::warmup
