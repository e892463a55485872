// The keys by which config.json files of real models describe experts. A new spelling is a new entry.
//
// Dots in keys stand for nested objects: "ffn_config.moe_num_experts" is a member of the object ffn_config.
#pragma once

#include <span>
#include <string_view>

namespace cubinet::warmup {

using Keys = std::span<const std::string_view>;

// The objects that can describe a language model; "" is the top level.
Keys language_places();
// Whether the object usually only contains the language model's object, and describes a model itself only if it names
// experts.
bool is_container(std::string_view place);

Keys expert_count_keys();
Keys expert_width_keys();   // for experts alone
Keys hidden_keys();         // hidden size of the model
Keys expert_hidden_keys();  // hidden size of the experts, if their input is projected to a narrower one
Keys activation_keys();     // the first one that is present is used

// In some models this is the experts' width, in others that of dense MLPs.
inline constexpr std::string_view shared_width_key = "intermediate_size";
// The type of the experts' weights, if it differs from the model's.
inline constexpr std::string_view expert_dtype_key = "expert_dtype";

// Whether shared_width_key is the experts' width in models of this type.
bool shares_width(std::string_view model_type);

enum class Gate { present, absent, unknown };
// Whether experts with this activation have a gate beside the up projection.
Gate gate_of(std::string_view activation);

// Whether models of this type have been examined.
bool is_known_model(std::string_view model_type);

// Whether the name of a key, without enclosing objects, suggests that it describes the experts' shape or type, and it
// is not known to describe something else.
bool may_concern_experts(std::string_view name);
// Whether the planner reads this key of an object that describes a language model.
bool is_read(std::string_view key);
// Whether the key names an object that contains such keys, such as ffn_config.
bool is_part(std::string_view key);

}  // namespace cubinet::warmup
