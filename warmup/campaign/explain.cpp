#include "warmup/campaign/explain.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "cache/layout.hpp"
#include "cache/quarantine.hpp"
#include "jit/accepted_compilers.hpp"
#include "jit/driver_limit.hpp"
#include "jit/kernel_facts.hpp"

namespace cubinet::warmup {
namespace {

// The distance of an entry of the family from the kernel asked for: the number of differing properties; among equals,
// newer entries are nearer.
auto distance(const cache::Entry& entry, const jit::KernelSpec& spec) {
  const jit::KernelFacts kernel = jit::kernel_facts(entry.facts);
  const int others = int{entry.facts.arch != spec.architecture} + int{kernel.n != spec.n} + int{kernel.k != spec.k} +
                     int{kernel.config != spec.config};
  return std::make_tuple(others, -std::max<std::int64_t>(entry.facts.created, 0), entry.key);
}

bool is_of(const jit::Difference& difference, std::string_view group) {
  return difference.field == group || difference.field.starts_with(std::string(group) + ".");
}

// Whether both records describe the same kernel and differ only in how it was compiled.
bool same_kernel(const std::vector<jit::Difference>& differences) {
  return std::none_of(differences.begin(), differences.end(), [](const jit::Difference& one) {
    return is_of(one, "constants") || is_of(one, "family") || is_of(one, "architecture") || is_of(one, "record");
  });
}

std::string without_quotes(const std::string& json) {
  const bool quoted = json.size() >= 2 && json.front() == '"' && json.back() == '"';
  return quoted ? json.substr(1, json.size() - 2) : json;
}

// For records of earlier builds, which contained NVRTC's version: such a kernel was for that version only.
std::string nvrtc_text(const std::string& first, const std::string& second) {
  if (first.empty()) return fmt::format("no NVRTC version in the record, not {}", second);
  if (!second.empty()) return fmt::format("compiled for NVRTC {}, not {}", first, second);
  return fmt::format("compiled by an earlier build, for NVRTC {} only; a warmup compiles it again, for every engine",
                     first);
}

// "a, b and 3 more".
std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 3;
  const std::size_t shown = std::min(most, names.size());
  const std::string text = fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<long>(shown), ", "));
  return shown == names.size() ? text : fmt::format("{} and {} more", text, names.size() - shown);
}

// The result of looking for a kernel in one cabinet.
struct Finding {
  Presence presence = Presence::absent;
  std::string why;       // empty for a hit
  std::string compiler;  // of a hit or an unusable entry
  int rank = 0;          // of a hit
};

Finding found_in(const std::string& compiler, int driver) {
  if (const auto rank = jit::rank(compiler, driver)) return {Presence::hit, {}, compiler, *rank};
  return {Presence::unusable,
          fmt::format("made by {}, this driver takes CUDA {} at most", compiler, jit::cuda_version_text(driver)),
          compiler, 0};
}

Finding look_in(const cache::Maintenance& cabinet, const std::vector<cache::Key>& evicted, const cache::Key& key,
                int driver) {
  const auto whole = cabinet.load(key);
  if (whole) return found_in(whole->facts.compiler, driver);
  if (whole.error().code != ErrorCode::not_found) {
    const bool unreadable = whole.error().code == ErrorCode::io;
    return {unreadable ? Presence::unreadable : Presence::damaged, whole.error().message, {}, 0};
  }
  if (std::binary_search(evicted.begin(), evicted.end(), key)) {
    return {Presence::evicted,
            fmt::format("it was compiled, and evicted from {} later to keep that root within its limits",
                        cabinet.root().native()),
            {},
            0};
  }
  if (cache::was_set_aside(cache::Layout{cabinet.root()}, key)) {
    return {Presence::set_aside,
            fmt::format("it was damaged and was moved to {}; it has not been compiled again, or was removed later",
                        (cabinet.root() / "quarantine").native()),
            {},
            0};
  }
  return {};
}

// Whether a finding replaces the one before it: a hit with a better compiler does, a hit replaces any other finding,
// and any finding replaces `absent`.
bool tells_more(const Finding& next, const Finding& before) {
  if (next.presence == Presence::hit) return before.presence != Presence::hit || next.rank < before.rank;
  return before.presence == Presence::absent;
}

}  // namespace

const char* name(Presence presence) {
  switch (presence) {
    case Presence::hit:
      return "hit";
    case Presence::unusable:
      return "unusable";
    case Presence::damaged:
      return "damaged";
    case Presence::unreadable:
      return "unreadable";
    case Presence::set_aside:
      return "set aside";
    case Presence::evicted:
      return "evicted";
    case Presence::stale:
      return "stale";
    case Presence::absent:
      return "absent";
  }
  return "absent";
}

std::string describe(const std::vector<jit::Difference>& differences) {
  std::vector<std::string> parts;
  std::vector<std::string> templates;
  for (const jit::Difference& one : differences) {
    const std::string first = without_quotes(one.first);
    const std::string second = without_quotes(one.second);
    if (is_of(one, "templates")) {
      templates.push_back(one.field.substr(std::min(one.field.size(), std::string("templates.").size())));
    } else if (one.field == "nvrtc") {
      parts.push_back(nvrtc_text(first, second));
    } else if (is_of(one, "constants")) {
      parts.push_back(fmt::format("{} {}, not {}", one.field.substr(one.field.find('.') + 1),
                                  first.empty() ? "none" : first, second.empty() ? "any" : second));
    } else if (one.field == "record") {
      parts.emplace_back("a record in another format");
    } else if (one.field == "options") {
      parts.push_back(fmt::format("compiled with {}, this build uses {}", first, second));
    } else if (one.field != "source") {  // the source follows from the constants and the family
      parts.push_back(one.field + " differs");
    }
  }
  if (!templates.empty()) parts.push_back("templates differ: " + list_of(templates));
  if (parts.empty() && !differences.empty()) parts.emplace_back("the source differs");
  return fmt::format("{}", fmt::join(parts, "; "));
}

Explainer::Explainer(std::vector<cache::Maintenance> cabinets, int driver)
    : cabinets_(std::move(cabinets)), driver_(driver) {
  for (const cache::Maintenance& cabinet : cabinets_) {
    entries_.push_back(cabinet.survey_unchanged().value_or(cache::Survey()).entries);
    evicted_.push_back(cabinet.evicted().value_or(std::vector<cache::Key>()));
  }
}

std::optional<Neighbour> Explainer::nearest(const jit::KernelSpec& spec, const std::string& record) const {
  for (const std::vector<cache::Entry>& entries : entries_) {
    const cache::Entry* best = nullptr;
    for (const cache::Entry& entry : entries) {
      if (jit::kernel_facts(entry.facts).family != spec.family_name()) continue;
      if (best == nullptr || distance(entry, spec) < distance(*best, spec)) best = &entry;
    }
    if (best != nullptr) return Neighbour{*best, jit::differences(best->record, record)};
  }
  return std::nullopt;
}

Explanation Explainer::explain(const jit::KernelSpec& spec) const {
  const std::string record = jit::record_of(spec);
  Explanation result;
  result.key = jit::key_of(record);
  Finding best;
  for (std::size_t i = 0; i < cabinets_.size(); ++i) {
    Finding found = look_in(cabinets_[i], evicted_[i], result.key, driver_);
    if (!tells_more(found, best)) continue;
    best = std::move(found);
    result.where = cabinets_[i].root().native();
    if (best.presence == Presence::hit && best.rank == 0) break;
  }
  result.presence = best.presence;
  result.why = std::move(best.why);
  result.accepted = jit::is_accepted(best.compiler);
  result.compiler = std::move(best.compiler);
  if (result.presence != Presence::absent) return result;
  result.nearest = nearest(spec, record);
  if (!result.nearest) {
    result.why = "never compiled: there is no entry of this family";
    return result;
  }
  const std::string differ = describe(result.nearest->differences);
  const bool stale = same_kernel(result.nearest->differences);
  if (stale) result.presence = Presence::stale;
  result.why = stale ? differ : "never compiled; nearest entry: " + differ;
  return result;
}

}  // namespace cubinet::warmup
