// cubinet cache rm: removes one entry.
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/cache_command.hpp"
#include "tools/cache_entries.hpp"
#include "tools/cache_help.hpp"
#include "util/text.hpp"

namespace cubinet::tools {
namespace {

using util::format_byte_size;

int remove(const CacheOptions& options, const std::string& key, cache::Cabinet& cabinet) {
  const auto found = find_one(key, cabinet);
  if (!found) return report_error(found.error(), options.json, exit_failed);
  const cache::Entry& entry = found->entries.front();
  const auto removed = cabinet.remove(entry.key);
  if (!removed) return report_error(removed.error(), options.json, exit_failed);
  if (!removed->index_problem.empty()) note(removed->index_problem + "; the next listing drops the row");
  if (options.json) {
    print_object(
        Json{{"removed", {entry.key.hex()}}, {"bytes", entry.bytes}, {"index_problem", removed->index_problem}});
  } else {
    print(fmt::format("removed {} ({})\n", entry.key.hex(), format_byte_size(entry.bytes)));
  }
  return exit_done;
}

}  // namespace

void add_cache_rm(Command cache) {
  const auto key = std::make_shared<std::string>();
  const auto action = [key](const CacheOptions& options, cache::Cabinet& cabinet) {
    return remove(options, *key, cabinet);
  };
  add_key_argument(add_cache_command(cache, "rm", "Remove one entry", remove_help, action), *key);
}

}  // namespace cubinet::tools
