// cubinet cache report: a page on the whole cabinet.
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/cabinet_report.hpp"
#include "tools/cache_command.hpp"
#include "tools/cache_entries.hpp"
#include "tools/cache_help.hpp"
#include "tools/table.hpp"
#include "tools/toolchain.hpp"
#include "util/files.hpp"

namespace cubinet::tools {
namespace {

int report(const CacheOptions& options, const std::string& file, const std::string& root) {
  if (const auto outside = check_outside("FILE", file, root); !outside) {
    return report_error(outside.error(), options.json, exit_usage);
  }
  auto cabinet = open_cabinet(root);
  if (!cabinet) return report_error(cabinet.error(), options.json, exit_failed);
  const auto survey = cabinet->survey();
  if (!survey) return report_error(survey.error(), options.json, exit_failed);
  const cache::Stats stats = cabinet->stats(*survey);
  note_shortfalls(*survey);
  const std::string page = report_page(cabinet->root().string(), *survey, stats);
  if (const auto written = util::replace_file(util::system_calls(), file, {page}); !written) {
    return report_error(written.error(), options.json, exit_failed);
  }
  if (options.json) {
    print_object(Json{{"file", file}, {"bytes", page.size()}, {"entries", stats.entries}});
  } else {
    print(fmt::format("{}: {}\n", one_line(file), count_text(stats.entries, "entry")));
  }
  return exit_done;
}

}  // namespace

void add_cache_report(Command cache) {
  const auto file = std::make_shared<std::string>();
  const auto action = [file](const CacheOptions& options, const std::string& root) {
    return report(options, *file, root);
  };
  add_root_command(cache, "report", "Write a page on the whole cabinet", report_help, action)
      .option("FILE", *file, "Where to write it; a file that is there is replaced")
      .required()
      .not_empty("the name of the file is empty");
}

}  // namespace cubinet::tools
