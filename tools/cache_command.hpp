// The commands of `cubinet cache`: cache_ls.cpp, cache_show.cpp, ... The add_ function of a command adds it to the
// command line; if the user names it, its action runs with the cabinet.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cache/maintenance.hpp"
#include "tools/command_line.hpp"
#include "tools/commands.hpp"
#include "tools/output.hpp"
#include "util/expected.hpp"

namespace cubinet::tools {

// The options of every cache command.
struct CacheOptions {
  std::string root;
  bool json = false;
};

// Both return the exit code.
using CacheAction = std::function<int(const CacheOptions&, cache::Maintenance&)>;
using RootAction = std::function<int(const CacheOptions&, const std::string& root)>;

// Opens the cabinet without creating it.
Expected<cache::Maintenance> open_cabinet(const std::string& root);

// Adds a command that opens the cabinet which the user names and runs `action` on it.
Command add_cache_command(Command cache, const char* name, const char* help, const std::string& details,
                          CacheAction action);

// Adds a command whose `action` opens the cabinet itself, if at all.
Command add_root_command(Command cache, const char* name, const char* help, const std::string& details,
                         RootAction action);

// Adds the argument KEY, or several of them; the target must outlive the command. A word that cannot be a key prefix is
// refused before anything is opened.
void add_key_argument(Command command, std::string& key);
Option add_keys_argument(Command command, std::vector<std::string>& keys);

void add_cache_ls(Command cache);
void add_cache_show(Command cache);
void add_cache_explain(Command cache);
void add_cache_stats(Command cache);
void add_cache_report(Command cache);
void add_cache_verify(Command cache);
void add_cache_rm(Command cache);
void add_cache_gc(Command cache);
void add_cache_pin(Command cache);
void add_cache_problems(Command cache);
void add_cache_export(Command cache);
void add_cache_import(Command cache);

}  // namespace cubinet::tools
