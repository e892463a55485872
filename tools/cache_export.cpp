// cubinet cache export: entries of the cabinet into a bundle.
#include <algorithm>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cache/bundle_transfer.hpp"
#include "tools/cache_command.hpp"
#include "tools/cache_entries.hpp"
#include "tools/cache_help.hpp"
#include "tools/request.hpp"
#include "tools/table.hpp"
#include "tools/toolchain.hpp"
#include "util/text.hpp"

namespace cubinet::tools {
namespace {

struct ExportOptions {
  std::string file;
  std::vector<std::string> keys;
  bool plan = false;
  RequestOptions request;
  const CLI::Option* arch = nullptr;
  std::string signing_key;
};

using Entries = std::vector<cache::Entry>;
using Choice = tl::expected<Entries, Refusal>;

auto refuse(Error error, ExitCode exit_code) { return tl::make_unexpected(Refusal{std::move(error), exit_code}); }

// All entries. A bundle that leaves out what is damaged or cannot be read would say nothing of it, so there is none
// then.
Choice all_entries(cache::Cabinet& cabinet) {
  auto survey = cabinet.survey();
  if (!survey) return refuse(survey.error(), exit_failed);
  if (!survey->unreadable.empty()) {
    return refuse({ErrorCode::io, survey->unreadable.front().reason, {}}, exit_failed);
  }
  if (survey->damaged.empty()) return std::move(survey->entries);
  return refuse(damaged(fmt::format("{} damaged {} in {}", survey->damaged.size(),
                                    survey->damaged.size() == 1 ? "file is" : "files are", cabinet.root().string())),
                exit_failed);
}

Choice entries_of_keys(const std::vector<std::string>& keys, cache::Cabinet& cabinet) {
  Entries entries;
  for (const std::string& key : keys) {
    auto found = find_typed(key, cabinet);
    if (!found) return tl::make_unexpected(std::move(found.error()));
    entries.push_back(std::move(found->entries.front()));
  }
  return entries;
}

Choice entries_of_arch(const std::string& arch, cache::Cabinet& cabinet) {
  auto entries = all_entries(cabinet);
  if (!entries) return entries;
  std::erase_if(*entries, [&](const cache::Entry& entry) { return entry.facts.arch != arch; });
  if (!entries->empty()) return entries;
  return refuse({ErrorCode::not_found, fmt::format("no entry in {} is for {}", cabinet.root().string(), arch), {}},
                exit_failed);
}

// Exactly the kernels of the plan, all of them.
Choice entries_of_plan(const RequestOptions& options, cache::Cabinet& cabinet) {
  const auto request = resolve(options);
  if (!request) return refuse(request.error(), exit_usage);
  const auto plan = warmup::make_plan(request->plan);
  if (!plan) return refuse(plan.error(), exit_usage);
  if (!request->note.empty()) note(request->note);
  const std::string nvrtc = open_toolchain().compiler->version();
  Entries entries;
  std::string missing;
  for (const auto& kernel : plan->kernels) {
    const jit::KernelSpec& spec = kernel.spec;
    const cache::Key key = jit::key_of(jit::record_of(spec, nvrtc));
    const auto object = cabinet.load(key);
    if (object) entries.push_back({key, object->facts, 0, 0, 0, {}});
    if (object) continue;
    if (object.error().code != ErrorCode::not_found) return refuse(damaged(object.error().message), exit_failed);
    missing += fmt::format("  {}  {} N={} K={} {}\n", key.hex(), spec.family, size_text(spec.n), size_text(spec.k),
                           jit::config_name(spec));
  }
  if (missing.empty()) return entries;
  return refuse({ErrorCode::not_found,
                 fmt::format("{} of {} kernels of the plan are not in {}; `cubinet warmup` with the same options makes "
                             "them:",
                             plan->kernels.size() - entries.size(), plan->kernels.size(), cabinet.root().string()),
                 missing},
                exit_failed);
}

Choice choose(const ExportOptions& options, cache::Cabinet& cabinet) {
  if (options.plan) return entries_of_plan(options.request, cabinet);
  if (!options.keys.empty()) return entries_of_keys(options.keys, cabinet);
  if (options.arch->count() > 0) return entries_of_arch(options.request.arch, cabinet);
  auto entries = all_entries(cabinet);
  if (!entries || !entries->empty()) return entries;
  return refuse({ErrorCode::not_found, fmt::format("there is no entry in {}", cabinet.root().string()), {}},
                exit_failed);
}

void print_report(const ExportOptions& options, const cache::ExportReport& report, const std::set<std::string>& archs,
                  bool json) {
  const bool is_signed = !options.signing_key.empty();
  if (json) {
    print_object(Json{{"file", options.file},
                      {"entries", report.entries},
                      {"bytes", report.bytes},
                      {"object_bytes", report.object_bytes},
                      {"arch", archs},
                      {"signed", is_signed}});
    return;
  }
  const auto size = [](std::uint64_t bytes) { return util::format_byte_size(static_cast<std::int64_t>(bytes)); };
  print(
      one_line(fmt::format("{} for {} in {}: {}, unpacked {}{}",
                           count_text(static_cast<std::int64_t>(report.entries), "entry"), fmt::join(archs, ", "),
                           options.file, size(report.bytes), size(report.object_bytes), is_signed ? "; signed" : "")) +
      "\n");
}

// Neither a part of the cabinet nor what is read may be replaced.
Expected<void> check_file(const ExportOptions& options, const cache::Cabinet& cabinet) {
  return check_outside("FILE", options.file, cabinet.root())
      .and_then([&] { return check_apart("FILE", options.file, "--sign", options.signing_key); })
      .and_then([&] { return check_apart("FILE", options.file, "--model", options.request.model); });
}

int export_entries(const CacheOptions& common, const ExportOptions& options, cache::Cabinet& cabinet) {
  if (const auto allowed = check_file(options, cabinet); !allowed) {
    return report_error(allowed.error(), common.json, exit_usage);
  }
  std::optional<cache::SigningKey> signing_key;
  if (!options.signing_key.empty()) {
    auto read = cache::SigningKey::read(options.signing_key);
    if (!read) return report_error(read.error(), common.json, exit_usage);
    signing_key = std::move(*read);
  }
  const auto entries = choose(options, cabinet);
  if (!entries) return report_error(entries.error().error, common.json, entries.error().exit_code);
  std::vector<cache::Key> keys;
  std::set<std::string> archs;
  for (const cache::Entry& entry : *entries) {
    keys.push_back(entry.key);
    archs.insert(entry.facts.arch);
  }
  const auto report = cache::export_bundle(cabinet, keys, options.file, signing_key);
  if (!report) return report_error(report.error(), common.json, exit_failed);
  print_report(options, *report, archs, common.json);
  return exit_done;
}

// The options of a plan stand for nothing without --plan, but for --arch.
void add_choices(CLI::App& command, ExportOptions& options) {
  auto* plan = command.add_flag("--plan", options.plan,
                                "The kernels of a plan, all of them and no other; takes the options of `cubinet plan`");
  auto* keys =
      command.add_option("KEY", options.keys, "Keys, or at least 4 digits of their beginnings")->excludes(plan);
  const std::vector<CLI::Option*> before = command.get_options();
  add_request_options(command, options.request);
  for (CLI::Option* option : command.get_options()) {
    if (std::find(before.begin(), before.end(), option) != before.end()) continue;
    if (option->check_name("--arch")) {
      options.arch = option;
      option->excludes(keys)
          ->description("Only entries for this architecture; with --plan the one that is planned for")
          ->default_str("");
    } else {
      option->needs(plan);
    }
  }
}

}  // namespace

void add_cache_export(CLI::App& cache, int& exit_code) {
  const auto options = std::make_shared<ExportOptions>();
  const auto action = [options](const CacheOptions& common, cache::Cabinet& cabinet) {
    return export_entries(common, *options, cabinet);
  };
  CLI::App& command =
      *add_cache_command(cache, exit_code, "export", "Write entries into one file, to be shipped", export_help, action);
  command.add_option("FILE", options->file, "The bundle to write; one that is there is replaced")->required();
  add_choices(command, *options);
  add_file_option(command, "--sign", options->signing_key, "Sign with this Ed25519 private key (PEM)");
}

}  // namespace cubinet::tools
