// How config.json files spell what shapes a model's experts: tables over real models. A new spelling is a new entry.
//
// Keys may have dots: "ffn_config.moe_num_experts" is a member of the object ffn_config.
#pragma once

#include <span>
#include <string_view>

namespace cubinet::warmup {

using Keys = std::span<const std::string_view>;

// The objects that describe a language model: "" is the top level.
Keys language_places();
// Those among them that only hold such an object, and describe one themselves where they name experts.
bool is_container(std::string_view place);

Keys expert_count_keys();
Keys expert_width_keys();   // of experts alone
Keys hidden_keys();         // of the model
Keys expert_hidden_keys();  // of the experts, where their input is projected to a narrower one
Keys activation_keys();     // the first that is there counts

// intermediate_size, which is the experts' width in some models and that of dense MLPs in others.
inline constexpr std::string_view shared_width_key = "intermediate_size";
// The experts' type, where it differs from the model's.
inline constexpr std::string_view expert_dtype_key = "expert_dtype";

// Whether it is the experts' width in models of this type, whatever else they have.
bool shares_width(std::string_view model_type);

enum class Gate { present, absent, unknown };
// Whether experts with this activation have a gate beside the up projection.
Gate gate_of(std::string_view activation);

// Whether models of this type have been looked at.
bool is_known_model(std::string_view model_type);

// Whether a key, without the objects around it, reads as if it concerned experts' shapes or types, and is none that is
// known to concern neither.
bool may_concern_experts(std::string_view name);
// Whether a key of an object that describes a language model is one that the planner reads; and whether it is an object
// in which such keys lie, as ffn_config.
bool is_read(std::string_view key);
bool is_part(std::string_view key);

}  // namespace cubinet::warmup
