// cubinet cache: the group of commands that inspect and maintain a cabinet. cache_command.hpp lists them.
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "jit/accepted_compilers.hpp"
#include "tools/cache_command.hpp"
#include "tools/toolchain.hpp"
#include "util/digest.hpp"

namespace cubinet::tools {
namespace {

int run(const CacheOptions& options, const RootAction& action) {
  const auto root = cache_root(options.root);
  return root ? action(options, *root) : report_error(root.error(), options.json, exit_usage);
}

// Why a text is not a key prefix, in either case; empty if it is one.
std::string key_complaint(const std::string& text) {
  constexpr std::size_t shortest = 4;
  if (util::is_hex(text) && text.size() >= shortest && text.size() <= 64) return {};
  return fmt::format("'{}' is not a key or the beginning of one: write {} to 64 hexadecimal digits", text, shortest);
}

}  // namespace

Expected<cache::Maintenance> open_cabinet(const std::string& root) {
  cache::CabinetOptions options;
  options.limits = environment_limits().value_or(cache::default_limits);
  options.preference = jit::preference_for(0);
  return cache::Maintenance::open(root, options);
}

Command add_cache_command(Command cache, const char* name, const char* help, const std::string& details,
                          CacheAction action) {
  const auto opened = [action = std::move(action)](const CacheOptions& options, const std::string& root) {
    auto cabinet = open_cabinet(root);
    return cabinet ? action(options, *cabinet) : report_error(cabinet.error(), options.json, exit_failed);
  };
  return add_root_command(cache, name, help, details, opened);
}

Command add_root_command(Command cache, const char* name, const char* help, const std::string& details,
                         RootAction action) {
  const Command command = cache.subcommand(name, help);
  const auto options = std::make_shared<CacheOptions>();
  add_cache_option(command, options->root);
  command.flag("--json", options->json, "Print one JSON object");
  command.footer(details + '\n' + exit_codes_help);
  command.action([options, action = std::move(action)] { return run(*options, action); });
  return command;
}

void add_key_argument(Command command, std::string& key) {
  command.option("KEY", key, "A key, or its first digits, at least 4").required().checked(key_complaint);
}

Option add_keys_argument(Command command, std::vector<std::string>& keys) {
  return command.option("KEY", keys, "Keys, or their first digits, at least 4").checked(key_complaint);
}

void add_cache(Command root) {
  const Command cache =
      root.subcommand("cache", "Inspect, maintain, export and import a cabinet; only `import` creates one");
  cache.requires_subcommand();
  cache.footer(std::string("Example:\n  cubinet cache ls --cache /opt/kernels\n") + exit_codes_help);
  add_cache_ls(cache);
  add_cache_show(cache);
  add_cache_explain(cache);
  add_cache_stats(cache);
  add_cache_report(cache);
  add_cache_verify(cache);
  add_cache_rm(cache);
  add_cache_gc(cache);
  add_cache_pin(cache);
  add_cache_problems(cache);
  add_cache_export(cache);
  add_cache_import(cache);
}

}  // namespace cubinet::tools
