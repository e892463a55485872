#include "tools/cache_text.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "util/clock.hpp"

namespace cubinet::tools {
namespace {

// The number of problems of a record that are named.
constexpr std::size_t most_named = 4;

std::string kind_text(const Problem& problem) {
  return fmt::format("{} {}", jit::data_type_name(problem.data_type), jit::layout_name(problem.layout));
}

bool is_generic(const Problem& problem) { return problem.n == 0; }

std::string shape_text(const Problem& problem) {
  return fmt::format("{} x {} in {}", problem.n, problem.k, count_text(problem.groups, "group"));
}

std::string range_text(MRange range) { return fmt::format("{} to {}", range.first, range.last); }

bool share_a_range(const std::vector<ProblemRange>& problems) {
  return std::all_of(problems.begin(), problems.end(),
                     [&](const ProblemRange& one) { return one.range == problems.front().range; });
}

}  // namespace

const char* const entry_fields_help =
    "  key           64 hexadecimal digits\n"
    "  family, arch, n, k, config\n"
    "                what was compiled. config names the tile configuration; it is empty for entries of\n"
    "                builds that did not store it. fp8_quantization has none, and its n and k are 0\n"
    "  compiler      the exact compiler; empty for entries of builds that did not store it\n"
    "  bytes         size of the object file\n"
    "  created       seconds since 1970\n"
    "  last_used     seconds since 1970, 0 = never; null: the index could not be read\n"
    "  hits          number of loads; null: the index could not be read\n"
    "  pinned        true: never evicted; null: the pins could not be read\n"
    "  in_use        true: loaded by a running engine, and therefore not evicted; null: as for pinned\n"
    "  registers     per thread\n"
    "  spill_bytes, smem_bytes\n"
    "                bytes per thread and per block\n"
    "  compile_ms    milliseconds\n";

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
  for (const cache::Unreadable& one : survey.unreadable) note(one.reason + "; its content is not listed");
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
    return fail(reason ? damaged(fmt::format("{} in objects/ is not an object", broken.front()))
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

std::string problems_text(const std::vector<ProblemRange>& problems) {
  const bool alike = share_a_range(problems);
  std::string text;
  std::string kind_before;
  for (std::size_t i = 0; i < std::min(problems.size(), most_named); ++i) {
    const auto& [problem, range] = problems[i];
    const std::string kind = kind_text(problem);
    text += i == 0 ? "" : ", ";
    if (kind != kind_before) text += is_generic(problem) ? kind : kind + ' ';
    if (!is_generic(problem)) text += shape_text(problem);
    if (!alike) text += fmt::format(" (M {})", range_text(range));
    kind_before = kind;
  }
  if (problems.size() > most_named) text += fmt::format(" and {} more", problems.size() - most_named);
  const bool generic =
      std::all_of(problems.begin(), problems.end(), [](const ProblemRange& one) { return is_generic(one.problem); });
  return generic ? fmt::format("the generic kernels ({})", text) : text;
}

std::string range_text(const std::vector<ProblemRange>& problems) {
  return problems.empty() || share_a_range(problems) ? range_text(warmup::whole_range(problems)) : "by problem";
}

Json problems_array(const std::vector<ProblemRange>& problems) {
  Json array = Json::array();
  for (const auto& [problem, range] : problems) {
    array.push_back(Json{{"dtype", jit::data_type_name(problem.data_type)},
                         {"layout", jit::layout_name(problem.layout)},
                         {"n", problem.n},
                         {"k", problem.k},
                         {"groups", problem.groups},
                         {"m_range", {range.first, range.last}}});
  }
  return array;
}

std::string target_text(const warmup::CoverageRecord& record, const std::vector<warmup::CoverageRecord>& records) {
  const std::int32_t num_sms = record.subject.num_sms;
  const bool alike = std::all_of(records.begin(), records.end(),
                                 [&](const warmup::CoverageRecord& other) { return other.subject.num_sms == num_sms; });
  return alike ? record.subject.architecture : fmt::format("{} with {} SMs", record.subject.architecture, num_sms);
}

}  // namespace cubinet::tools
