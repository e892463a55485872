// cubinet cache: what is in the cabinet, and whether it is sound. Its commands are in the files that
// cache_command.hpp names.
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tools/cache_command.hpp"
#include "tools/toolchain.hpp"
#include "util/digest.hpp"

namespace cubinet::tools {
namespace {

int run(const CacheOptions& options, const RootAction& action) {
  const auto root = cache_root(options.root);
  return root ? action(options, *root) : report_error(root.error(), options.json, exit_usage);
}

// Why a text is not the beginning of a key, in either case; empty when it is.
std::string key_complaint(const std::string& text) {
  constexpr std::size_t shortest = 4;
  if (util::is_hex(text) && text.size() >= shortest && text.size() <= 64) return {};
  return fmt::format("'{}' is not a key or the beginning of one: {} to 64 hexadecimal digits", text, shortest);
}

}  // namespace

Expected<cache::Cabinet> open_cabinet(const std::string& root) {
  return cache::Cabinet::open(root, false, {.limits = environment_limits().value_or(cache::default_limits)});
}

CLI::App* add_cache_command(CLI::App& cache, int& exit_code, const char* name, const char* help,
                            const std::string& details, CacheAction action) {
  const auto opened = [action = std::move(action)](const CacheOptions& options, const std::string& root) {
    auto cabinet = open_cabinet(root);
    return cabinet ? action(options, *cabinet) : report_error(cabinet.error(), options.json, exit_failed);
  };
  return add_root_command(cache, exit_code, name, help, details, opened);
}

CLI::App* add_root_command(CLI::App& cache, int& exit_code, const char* name, const char* help,
                           const std::string& details, RootAction action) {
  CLI::App* command = cache.add_subcommand(name, help);
  const auto options = std::make_shared<CacheOptions>();
  add_cache_option(*command, options->root);
  command->add_flag("--json", options->json, "Print one JSON object");
  command->footer(details + '\n' + exit_codes_help);
  command->callback([options, action = std::move(action), &exit_code] { exit_code = run(*options, action); });
  return command;
}

void add_file_option(CLI::App& command, const char* name, std::string& file, const char* help) {
  command.add_option(name, file, help)
      ->type_name("FILE")
      ->check([](const std::string& text) { return text.empty() ? "the name of the file is empty" : ""; }, "");
}

void add_key_argument(CLI::App& command, std::string& key) {
  command.add_option("KEY", key, "A key, or at least 4 digits of its beginning")->required()->check(key_complaint, "");
}

CLI::Option* add_keys_argument(CLI::App& command, std::vector<std::string>& keys) {
  return command.add_option("KEY", keys, "Keys, or at least 4 digits of their beginnings")->check(key_complaint, "");
}

void add_cache(CLI::App& app, int& exit_code) {
  CLI::App* cache =
      app.add_subcommand("cache", "Look into the cabinet, or ship what it holds; `import` alone creates one");
  cache->require_subcommand(1);
  cache->footer(std::string("Example:\n  cubinet cache ls --cache /opt/kernels\n") + exit_codes_help);
  add_cache_ls(*cache, exit_code);
  add_cache_show(*cache, exit_code);
  add_cache_explain(*cache, exit_code);
  add_cache_stats(*cache, exit_code);
  add_cache_report(*cache, exit_code);
  add_cache_verify(*cache, exit_code);
  add_cache_rm(*cache, exit_code);
  add_cache_gc(*cache, exit_code);
  add_cache_pin(*cache, exit_code);
  add_cache_export(*cache, exit_code);
  add_cache_import(*cache, exit_code);
}

}  // namespace cubinet::tools
