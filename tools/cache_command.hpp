// The commands of `cubinet cache`, a file each: cache_ls.cpp, cache_show.cpp, ... A command's function adds it to the
// command line; when the user names it, its action is given the cabinet.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cache/cabinet.hpp"
#include "tools/commands.hpp"
#include "tools/output.hpp"
#include "util/expected.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace cubinet::tools {

// What every one of them takes.
struct CacheOptions {
  std::string root;
  bool json = false;
};

// Return the exit code.
using CacheAction = std::function<int(const CacheOptions&, cache::Cabinet&)>;
using RootAction = std::function<int(const CacheOptions&, const std::string& root)>;

// The cabinet as these commands open it: never created.
Expected<cache::Cabinet> open_cabinet(const std::string& root);

// Adds a command that runs `action` on the cabinet that the user names, opened.
CLI::App* add_cache_command(CLI::App& cache, int& exit_code, const char* name, const char* help,
                            const std::string& details, CacheAction action);

// The same for a command that opens the cabinet itself, if it is to be opened at all.
CLI::App* add_root_command(CLI::App& cache, int& exit_code, const char* name, const char* help,
                           const std::string& details, RootAction action);

// Adds an option that names a file; `file` must outlive the command. An empty name, as a script's empty variable gives
// it, is refused.
void add_file_option(CLI::App& command, const char* name, std::string& file, const char* help);

// Adds the argument KEY, or several of it; what takes them must outlive the command. A word that can be no key's
// beginning is refused before anything is opened.
void add_key_argument(CLI::App& command, std::string& key);
CLI::Option* add_keys_argument(CLI::App& command, std::vector<std::string>& keys);

void add_cache_ls(CLI::App& cache, int& exit_code);
void add_cache_show(CLI::App& cache, int& exit_code);
void add_cache_explain(CLI::App& cache, int& exit_code);
void add_cache_stats(CLI::App& cache, int& exit_code);
void add_cache_report(CLI::App& cache, int& exit_code);
void add_cache_verify(CLI::App& cache, int& exit_code);
void add_cache_rm(CLI::App& cache, int& exit_code);
void add_cache_gc(CLI::App& cache, int& exit_code);
void add_cache_pin(CLI::App& cache, int& exit_code);
void add_cache_export(CLI::App& cache, int& exit_code);
void add_cache_import(CLI::App& cache, int& exit_code);

}  // namespace cubinet::tools
