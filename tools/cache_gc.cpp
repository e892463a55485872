// cubinet cache gc and rm: remove entries. cubinet cache pin and unpin: protect entries from eviction.
#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "jit/kernel_facts.hpp"
#include "tools/cache_command.hpp"
#include "tools/cache_text.hpp"
#include "tools/output.hpp"
#include "tools/toolchain.hpp"
#include "util/expected.hpp"
#include "util/text.hpp"

namespace cubinet::tools {
namespace {

constexpr const char* gc_help =
    "Evicts the entries that were not used for --max-age, then the least recently used ones until the\n"
    "rest is within --max-size and --max-entries. Without these three options the limits are those of\n"
    "every writer: CUBINET_CACHE_MAX_SIZE (4GiB) and CUBINET_CACHE_MAX_ENTRIES (100000). 0 and none mean\n"
    "no limit. The age of an entry that was never used counts from its creation. Entries that are pinned\n"
    "or loaded by a running engine stay, and others are evicted instead of those that cannot be removed;\n"
    "exit code 1 if the rest is still over a limit. A dry run changes nothing on disk, and is an error if\n"
    "the index cannot be read as it is. Also removes files that killed writers left more than a day ago,\n"
    "and damaged files that were moved to quarantine/ more than 30 days ago.\n\n"
    "Example:\n"
    "  cubinet cache gc --max-size 500MiB --max-age 30d --dry-run --cache /opt/kernels\n\n"
    "With --json:\n"
    "  cache         the cabinet's folder\n"
    "  dry_run       true: nothing was removed; the other fields say what would be\n"
    "  evicted       a list in the order of removal: fields as in `cache ls`, and reason, the limit:\n"
    "                \"age\", \"entries\" or \"bytes\"\n"
    "  bytes         total size of the evicted files\n"
    "  entries_left, bytes_left\n"
    "                what remains\n"
    "  over          true: the rest is over a limit, because it is pinned, in use or cannot be removed\n"
    "  leftovers     number of files removed from tmp/\n"
    "  quarantined   number of files removed from quarantine/\n"
    "  problem       why something could not be removed, else empty\n"
    "  index_problem why rows could not be removed, else empty; the next listing removes them\n";

constexpr const char* pin_help =
    "A pinned entry is never evicted. A pin lasts until `cache unpin` or `cache rm`. Waits up to 5 s for a\n"
    "running collection; exit code 1 if that has evicted the entry.\n\n"
    "Example:\n"
    "  cubinet cache pin 3f9a01c2 77b0 --cache /opt/kernels\n\n"
    "With --json:\n"
    "  pinned        a list of the keys\n"
    "  failures      keys that could not be pinned: a list of {key, code, message}; exit code 1\n";

constexpr const char* unpin_help =
    "Example:\n"
    "  cubinet cache unpin 3f9a01c2 --cache /opt/kernels\n\n"
    "With --json:\n"
    "  unpinned      a list of the keys\n"
    "  failures      keys that could not be unpinned, or were not pinned: a list of {key, code, message};\n"
    "                exit code 1\n";

constexpr const char* remove_help =
    "Example:\n"
    "  cubinet cache rm 3f9a01c2 --cache /opt/kernels\n\n"
    "With --json:\n"
    "  removed       a list with the key\n"
    "  bytes         size of the removed file\n"
    "  index_problem why the row could not be removed, else empty; the next listing removes it\n";

using util::format_byte_size;

struct GcOptions {
  std::string max_size, max_entries, max_age;
  bool dry_run = false;
};

// The given limits, else those of every writer.
Expected<cache::Limits> limits_of(const GcOptions& options) {
  if (options.max_size.empty() && options.max_entries.empty() && options.max_age.empty()) return environment_limits();
  const auto given = [](const std::string& text, auto parse, const char* name) -> Expected<std::int64_t> {
    if (text.empty()) return 0;
    auto limit = parse(text);
    if (!limit) limit.error().message = fmt::format("{}: {}", name, limit.error().message);
    return limit;
  };
  const auto bytes = given(options.max_size, cache::parse_size_limit, "--max-size");
  if (!bytes) return propagate(bytes);
  const auto entries = given(options.max_entries, cache::parse_count_limit, "--max-entries");
  if (!entries) return propagate(entries);
  const auto age = given(options.max_age, cache::parse_age_limit, "--max-age");
  if (!age) return propagate(age);
  return cache::Limits{*bytes, *entries, *age};
}

const char* reason_name(cache::EvictionReason reason) {
  switch (reason) {
    case cache::EvictionReason::age:
      return "age";
    case cache::EvictionReason::entries:
      return "entries";
    case cache::EvictionReason::bytes:
      return "bytes";
  }
  return "bytes";
}

Json gc_object(const cache::Collection& collection, const std::string& root, bool dry_run) {
  Json evicted = Json::array();
  std::int64_t bytes = 0;
  for (const cache::Eviction& eviction : collection.decision.evictions) {
    Json entry = entry_object(eviction.entry, {});
    entry["reason"] = reason_name(eviction.reason);
    evicted.push_back(std::move(entry));
    bytes += eviction.entry.bytes;
  }
  return Json{{"cache", root},
              {"dry_run", dry_run},
              {"evicted", std::move(evicted)},
              {"bytes", bytes},
              {"entries_left", collection.decision.entries_left},
              {"bytes_left", collection.decision.bytes_left},
              {"over", collection.decision.over},
              {"leftovers", collection.leftovers},
              {"quarantined", collection.quarantined},
              {"problem", collection.problem},
              {"index_problem", collection.index_problem}};
}

void print_collection(const cache::Collection& collection, bool dry_run) {
  std::int64_t bytes = 0;
  for (const auto& [entry, reason] : collection.decision.evictions) {
    const std::string used = entry.last_used == 0 ? "never used" : fmt::format("used {} ago", age_of(entry.last_used));
    const jit::KernelFacts kernel = jit::kernel_facts(entry.facts);
    print(fmt::format("{}  {} N={} K={} {}  {}, {}: {}\n", entry.key.hex().substr(0, shown_digits),
                      short_text(kernel.family), size_text(kernel.n), size_text(kernel.k), config_text(kernel.config),
                      format_byte_size(entry.bytes), used, reason_name(reason)));
    bytes += entry.bytes;
  }
  const auto evicted = static_cast<std::int64_t>(collection.decision.evictions.size());
  print(fmt::format("{} {} ({}), {}, {} from quarantine; {}: {}, {}\n", dry_run ? "would remove" : "removed",
                    count_text(evicted, "entry"), format_byte_size(bytes), count_text(collection.leftovers, "leftover"),
                    collection.quarantined, dry_run ? "would stay" : "left",
                    count_text(collection.decision.entries_left, "entry"),
                    format_byte_size(collection.decision.bytes_left)));
}

int collect(const CacheOptions& options, const GcOptions& gc, const std::string& root) {
  const auto limits = limits_of(gc);
  if (!limits) return report_error(limits.error(), options.json, exit_usage);
  auto cabinet = open_cabinet(root);
  if (!cabinet) return report_error(cabinet.error(), options.json, exit_failed);
  const auto done = cabinet->collect(*limits, gc.dry_run);
  if (!done) return report_error(done.error(), options.json, exit_failed);
  if (options.json) {
    print_object(gc_object(*done, cabinet->root().string(), gc.dry_run));
  } else {
    print_collection(*done, gc.dry_run);
  }
  if (done->decision.over) note("the cabinet is still over a limit: the rest is pinned, in use or cannot be removed");
  if (!done->problem.empty()) note(done->problem);
  if (!done->index_problem.empty()) note(done->index_problem + "; the next listing removes the rows");
  return done->decision.over || !done->problem.empty() ? exit_failed : exit_done;
}

// The key that a word of the command line names. unpin with a complete key needs no entry.
Expected<cache::Key> find_key(const std::string& word, cache::Maintenance& cabinet, bool pin) {
  if (const auto key = cache::Key::from_hex(word); key && !pin) return *key;
  return find_one(word, cabinet).map([](const cache::Survey& found) { return found.entries.front().key; });
}

// Resolves all words before any pin changes; each key once.
Expected<std::vector<cache::Key>> find_keys(const std::vector<std::string>& words, cache::Maintenance& cabinet,
                                            bool pin) {
  std::vector<cache::Key> keys;
  for (const std::string& word : words) {
    const auto key = find_key(word, cabinet, pin);
    if (!key) return propagate(key);
    if (std::find(keys.begin(), keys.end(), *key) == keys.end()) keys.push_back(*key);
  }
  return keys;
}

// A key that fails does not stop the others.
int set_pins(const CacheOptions& options, const std::vector<std::string>& words, cache::Maintenance& cabinet,
             bool pin) {
  const auto keys = find_keys(words, cabinet, pin);
  if (!keys) return report_error(keys.error(), options.json, exit_failed);
  const char* const change = pin ? "pinned" : "unpinned";
  Json done = Json::array();
  Json failures = Json::array();
  for (const cache::Key& key : *keys) {
    const auto set = pin ? cabinet.pin(key) : cabinet.unpin(key);
    if (set) {
      done.push_back(key.hex());
      if (!options.json) print(fmt::format("{} {}\n", change, key.hex()));
    } else {
      report_error(set.error(), false, exit_failed);
      failures.push_back({{"key", key.hex()}, {"code", code_name(set.error().code)}, {"message", set.error().message}});
    }
  }
  const bool all = failures.empty();
  if (options.json) print_object(Json{{change, std::move(done)}, {"failures", std::move(failures)}});
  return all ? exit_done : exit_failed;
}

void add_pin_command(Command cache, const char* name, const char* help, const char* details, bool pin) {
  const auto keys = std::make_shared<std::vector<std::string>>();
  const auto action = [keys, pin](const CacheOptions& options, cache::Maintenance& cabinet) {
    return set_pins(options, *keys, cabinet, pin);
  };
  add_keys_argument(add_cache_command(cache, name, help, details, action), *keys).required();
}

int remove(const CacheOptions& options, const std::string& key, cache::Maintenance& cabinet) {
  const auto found = find_one(key, cabinet);
  if (!found) return report_error(found.error(), options.json, exit_failed);
  const cache::Entry& entry = found->entries.front();
  const auto removed = cabinet.remove(entry.key);
  if (!removed) return report_error(removed.error(), options.json, exit_failed);
  if (!removed->index_problem.empty()) note(removed->index_problem + "; the next listing removes the row");
  if (options.json) {
    print_object(
        Json{{"removed", {entry.key.hex()}}, {"bytes", entry.bytes}, {"index_problem", removed->index_problem}});
  } else {
    print(fmt::format("removed {} ({})\n", entry.key.hex(), format_byte_size(entry.bytes)));
  }
  return exit_done;
}

}  // namespace

void add_cache_gc(Command cache) {
  const auto gc = std::make_shared<GcOptions>();
  const auto action = [gc](const CacheOptions& options, const std::string& root) {
    return collect(options, *gc, root);
  };
  const Command command = add_root_command(cache, "gc", "Evict the least recently used entries", gc_help, action);
  command.option("--max-size", gc->max_size, "Largest total size of the objects, as in 500MiB; none: no limit")
      .type_name("SIZE");
  command.option("--max-entries", gc->max_entries, "Largest number of entries; none: no limit").type_name("N");
  command.option("--max-age", gc->max_age, "Evict entries that were not used for longer, as in 12h or 30d")
      .type_name("AGE");
  command.flag("--dry-run", gc->dry_run, "Print what would be removed, and remove nothing");
}

void add_cache_pin(Command cache) {
  add_pin_command(cache, "pin", "Protect entries from eviction", pin_help, true);
  add_pin_command(cache, "unpin", "Remove pins", unpin_help, false);
}

void add_cache_rm(Command cache) {
  const auto key = std::make_shared<std::string>();
  const auto action = [key](const CacheOptions& options, cache::Maintenance& cabinet) {
    return remove(options, *key, cabinet);
  };
  add_key_argument(add_cache_command(cache, "rm", "Remove one entry", remove_help, action), *key);
}

}  // namespace cubinet::tools
