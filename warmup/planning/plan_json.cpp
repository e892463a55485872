#include "warmup/planning/plan_json.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "jit/accepted_compilers.hpp"
#include "util/json_text.hpp"

namespace cubinet::warmup {
namespace {

using util::json_array;
using util::json_object;
using util::json_string;

std::string range_json(MRange range) { return fmt::format("[{},{}]", range.first, range.last); }

std::string ranges_json(const std::vector<MRange>& ranges) {
  std::vector<std::string> elements;
  for (const MRange& range : ranges) elements.push_back(range_json(range));
  return json_array(elements);
}

// "block_tokens" for the constant kBlockTokens.
std::string member_name(std::string_view constant) {
  std::string name;
  for (const char c : constant.substr(1)) {
    const bool capital = c >= 'A' && c <= 'Z';
    if (capital && !name.empty()) name += '_';
    name += capital ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return name;
}

// The configuration's name, and every constant besides N and K.
std::string config_json(const jit::KernelSpec& spec) {
  std::vector<std::string> names;
  for (const jit::Constant& constant : spec.family->constants()) names.push_back(member_name(constant.name));
  std::vector<util::JsonMember> members{{"name", json_string(spec.config)}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != "n" && names[i] != "k") members.emplace_back(names[i], jit::text_of(spec.constants[i]));
  }
  return json_object(members);
}

// Problems that differ only in what the kernel does not depend on give equal uses. Each use is listed once.
std::string uses_json(const PlannedKernel& kernel) {
  std::vector<std::string> uses;
  for (const PlannedUse& use : kernel.uses) {
    std::string one =
        json_object({{"groups", std::to_string(use.problem.groups)}, {"m_ranges", ranges_json(use.m_ranges)}});
    if (std::find(uses.begin(), uses.end(), one) == uses.end()) uses.push_back(std::move(one));
  }
  return json_array(uses);
}

std::string kernel_json(const PlannedKernel& kernel) {
  const PlannedUse& first = kernel.uses.front();
  return json_object({{"key", json_string(jit::key_of(kernel.spec).hex())},
                      {"family", json_string(kernel.spec.family_name())},
                      {"n", std::to_string(kernel.spec.n)},
                      {"k", std::to_string(kernel.spec.k)},
                      {"groups", std::to_string(first.problem.groups)},
                      {"m_ranges", ranges_json(first.m_ranges)},
                      {"config", config_json(kernel.spec)},
                      {"uses", uses_json(kernel)}});
}

}  // namespace

std::string plan_json(const ResolvedRequest& request, const Plan& plan) {
  std::vector<std::string> kernels;
  for (const PlannedKernel& kernel : plan.kernels) kernels.push_back(kernel_json(kernel));
  return json_object({{"unique_kernels", std::to_string(plan.kernels.size())},
                      {"arch", json_string(request.plan.target.architecture)},
                      {"nvrtc", json_string(jit::accepted_compilers().front())},
                      {"m_range", range_json(whole_range(request.plan.problems))},
                      {"derivation", derivation_json(request.derivation)},
                      {"notes", notes_json(request.notes)},
                      {"kernels", json_array(kernels)}});
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
