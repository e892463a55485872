#include "tools/cache_entries.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/table.hpp"
#include "util/clock.hpp"

namespace cubinet::tools {

std::string age_of(std::int64_t then) {
  const std::int64_t now = util::system_clock().seconds();
  return age_text(now - std::clamp<std::int64_t>(then, 0, now));
}

std::string config_text(const cache::Facts& facts) { return facts.config.empty() ? "-" : short_text(facts.config); }

std::string compiler_text(const cache::Facts& facts) {
  return facts.compiler.empty() ? "-" : short_text(facts.compiler);
}

Known known(const cache::Survey& survey) { return {survey.index_problem.empty(), survey.kept_problem.empty()}; }

std::string kept_text(const cache::Entry& entry, const Known& known) {
  if (!known.kept) return "?";
  return entry.pinned ? "pinned" : entry.in_use ? "in use" : "";
}

Json entry_object(const cache::Entry& entry, const Known& known) {
  const auto use = [&](std::int64_t value) { return known.use ? Json(value) : Json(); };
  const auto kept = [&](bool value) { return known.kept ? Json(value) : Json(); };
  return Json{{"key", entry.key.hex()},
              {"family", entry.facts.family},
              {"arch", entry.facts.arch},
              {"n", entry.facts.n},
              {"k", entry.facts.k},
              {"config", entry.facts.config},
              {"compiler", entry.facts.compiler},
              {"bytes", entry.bytes},
              {"created", entry.facts.created},
              {"last_used", use(entry.last_used)},
              {"hits", use(entry.hits)},
              {"pinned", kept(entry.pinned)},
              {"in_use", kept(entry.in_use)},
              {"registers", entry.facts.registers},
              {"spill_bytes", entry.facts.spill_bytes},
              {"smem_bytes", entry.facts.smem_bytes},
              {"compile_ms", entry.facts.compile_ms}};
}

Json unreadable_array(const std::vector<cache::Unreadable>& unreadable) {
  Json array = Json::array();
  for (const cache::Unreadable& one : unreadable) array.push_back({{"name", one.name}, {"reason", one.reason}});
  return array;
}

void note_shortfalls(const cache::Survey& survey) {
  for (const cache::Unreadable& one : survey.unreadable) note(one.reason + "; what is there is not listed");
  if (!survey.index_problem.empty()) note(survey.index_problem + "; hits are unknown");
  if (!survey.kept_problem.empty()) note(survey.kept_problem + "; what is pinned or in use is unknown");
  if (survey.damaged.empty()) return;
  note(fmt::format("{} damaged {} in objects/ not listed; run `cubinet cache verify --repair`", survey.damaged.size(),
                   survey.damaged.size() == 1 ? "file is" : "files are"));
}

Error damaged(const std::string& reason) {
  return {ErrorCode::io, reason + "; run `cubinet cache verify --repair`", {}};
}

Error unusable_entry(const Error& reason) {
  return reason.code == ErrorCode::invalid_argument ? damaged(reason.message) : reason;
}

Expected<cache::Survey> find_one(const std::string& prefix, cache::Cabinet& cabinet) {
  auto found = cabinet.survey(prefix);
  if (!found) return found;
  const auto& entries = found->entries;
  const auto& broken = found->damaged;
  if (entries.size() == 1 && broken.empty()) return found;
  if (entries.empty() && broken.size() == 1) {
    const auto key = cache::Key::from_hex(broken.front());
    const auto reason = key ? cabinet.check(*key) : Expected<void>();
    return fail(reason ? damaged(fmt::format("{} in objects/ is no object", broken.front()))
                                      : unusable_entry(reason.error()));
  }
  if (entries.empty() && broken.empty() && !found->unreadable.empty()) {
    return fail(ErrorCode::io, found->unreadable.front().reason);
  }
  if (entries.empty() && broken.empty()) {
    return fail(ErrorCode::not_found,
                fmt::format("no entry's key begins with {} in {}", prefix, cabinet.root().string()));
  }
  std::string candidates;
  for (const cache::Entry& entry : entries) {
    candidates += fmt::format("  {}  {} N={} K={} {}\n", entry.key.hex(), short_text(entry.facts.family),
                              size_text(entry.facts.n), size_text(entry.facts.k), config_text(entry.facts));
  }
  for (const std::string& name : broken) candidates += fmt::format("  {}  damaged\n", one_line(name));
  return fail(ErrorCode::invalid_argument,
              fmt::format("{} is the beginning of {} keys:", prefix, entries.size() + broken.size()), candidates);
}

}  // namespace cubinet::tools
