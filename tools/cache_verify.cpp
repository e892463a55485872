// cubinet cache verify: checks the cabinet, and repairs it on request.
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/cache_command.hpp"
#include "tools/cache_text.hpp"

namespace cubinet::tools {
namespace {

constexpr const char* verify_help =
    "Exit code 1 if an object or the index is damaged, if something cannot be read, or if the index and\n"
    "the objects disagree; with --repair, if something could not be repaired. Two things do not change the\n"
    "exit code: leftovers of killed writers, which are harmless, and, without --repair, an index that\n"
    "another process holds; it is not compared then.\n\n"
    "Example:\n"
    "  cubinet cache verify --repair --cache /opt/kernels\n\n"
    "With --json:\n"
    "  cache         the cabinet's folder\n"
    "  checked       number of objects that were read\n"
    "  damaged       keys, or names in objects/ or problems/, of damaged files\n"
    "  unreadable    objects and folders that cannot be read, which may be intact: a list of {name,\n"
    "                reason}; --repair does not change them\n"
    "  orphans, orphan_keys\n"
    "                objects without a row in the index: number and keys\n"
    "  missing, missing_keys\n"
    "                rows without an object: number and keys\n"
    "  leftovers     number of files that killed writers left in tmp/\n"
    "  index_problem why the index could not be read as it is, else empty\n"
    "  index_busy    true: another process holds the index, and it was not compared\n"
    "  index_unused  true: the index is not used and was not compared; index_problem says why: a newer\n"
    "                build has written it, or its file system does not support locks. This is not damage\n"
    "  repaired      true: --repair was given, and all of the above is repaired\n"
    "  unmended      number of damaged files that --repair could not move to quarantine/\n"
    "  index_unmended why --repair could not repair the rows, else empty\n";

void print_keys(const char* what, const std::vector<cache::Key>& keys) {
  for (const cache::Key& key : keys) print(fmt::format("{}: {}\n", what, key.hex()));
}

Json key_array(const std::vector<cache::Key>& keys) {
  Json array = Json::array();
  for (const cache::Key& key : keys) array.push_back(key.hex());
  return array;
}

void print_report(const cache::VerifyReport& report, bool repair, bool repaired) {
  for (const std::string& name : report.damaged) print(fmt::format("damaged: {}\n", one_line(name)));
  for (const cache::Unreadable& one : report.unreadable) {
    print(fmt::format("unreadable: {}\n", one_line(one.reason)));
  }
  if (!report.index_problem.empty()) print(fmt::format("index: {}\n", one_line(report.index_problem)));
  // Without an index every object is an orphan, so the list would be useless.
  if (report.index_problem.empty()) print_keys("without a row", report.orphan_keys);
  print_keys("without an object", report.missing_keys);
  const std::string rows =
      report.index_busy || report.index_unused
          ? "index not compared"
          : fmt::format("{} objects without a row, {} rows without an object", report.orphans, report.missing);
  print(fmt::format("{} checked, {} damaged, {}, {} leftovers{}\n", report.checked, report.damaged.size(), rows,
                    report.leftovers, repaired ? "; repaired" : ""));
  if (report.leftovers > 0 && !repair) {
    print(
        "leftovers are files that killed writers left in tmp/; they are harmless, and `cubinet cache verify --repair` "
        "removes "
        "them\n");
  }
}

int verify(const CacheOptions& options, bool repair, cache::Maintenance& cabinet) {
  const auto report = cabinet.verify(repair);
  if (!report) return report_error(report.error(), options.json, exit_failed);
  const bool index_sound = report->index_problem.empty() || report->index_busy || report->index_unused;
  const bool sound = report->damaged.empty() && report->orphans == 0 && report->missing == 0 && index_sound;
  const bool readable = report->unreadable.empty();
  const bool repaired =
      repair && readable && report->not_moved == 0 && !report->index_busy && report->index_not_repaired.empty();
  if (options.json) {
    print_object(Json{{"cache", cabinet.root().string()},
                      {"checked", report->checked},
                      {"damaged", report->damaged},
                      {"unreadable", unreadable_array(report->unreadable)},
                      {"orphans", report->orphans},
                      {"orphan_keys", key_array(report->orphan_keys)},
                      {"missing", report->missing},
                      {"missing_keys", key_array(report->missing_keys)},
                      {"leftovers", report->leftovers},
                      {"index_problem", report->index_problem},
                      {"index_busy", report->index_busy},
                      {"index_unused", report->index_unused},
                      {"repaired", repaired},
                      {"unmended", report->not_moved},
                      {"index_unmended", report->index_not_repaired}});
  } else {
    print_report(*report, repair, repaired);
  }
  if (!sound && !repair) note("run `cubinet cache verify --repair` to repair this");
  if (report->not_moved > 0) note(fmt::format("{} damaged files could not be moved to quarantine/", report->not_moved));
  if (!report->index_not_repaired.empty()) note(report->index_not_repaired + "; the index is unchanged");
  if (!readable) note("unreadable files were not changed: check their owner and mode, and the disk");
  if (report->index_busy) {
    note(fmt::format("the index was busy and not {}; try again later", repair ? "repaired" : "compared"));
  }
  return (repair ? repaired : sound && readable) ? exit_done : exit_failed;
}

}  // namespace

void add_cache_verify(Command cache) {
  const auto repair = std::make_shared<bool>(false);
  const auto action = [repair](const CacheOptions& options, cache::Maintenance& cabinet) {
    return verify(options, *repair, cabinet);
  };
  add_cache_command(cache, "verify", "Compare every object with its digest and with the index", verify_help, action)
      .flag("--repair", *repair, "Move damaged objects to quarantine/, repair the index, remove leftovers");
}

}  // namespace cubinet::tools
