// cubinet cache export: writes entries of the cabinet to a bundle.
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cache/bundle_transfer.hpp"
#include "tools/cache_command.hpp"
#include "tools/cache_text.hpp"
#include "tools/output.hpp"
#include "tools/request.hpp"
#include "tools/toolchain.hpp"
#include "util/text.hpp"

namespace cubinet::tools {
namespace {

constexpr const char* export_help =
    "Without KEY, --arch and --plan all entries are exported. The bundle depends only on its entries: the\n"
    "same entries give the same file, byte for byte (with one version of zstd). An engine reads it in\n"
    "place, as a layer: CUBINET_CACHE_PATH=/opt/model.cubinet. If an entry is damaged, or one of the plan\n"
    "is missing, no file is written and the exit code is 1; the missing ones are listed. FILE must be\n"
    "outside the cabinet.\n\n"
    "Example:\n"
    "  cubinet cache export model.cubinet --plan --model config.json --ep 8\n"
    "  cubinet cache export model.cubinet --arch sm_90a --sign private.pem\n"
    "  cubinet cache export two.cubinet 3f9a01c2 77b0c1d2 --cache /opt/kernels\n"
    "  openssl genpkey -algorithm ed25519 -out private.pem       creates a signing key\n\n"
    "With --json:\n"
    "  file          the bundle\n"
    "  entries       number of entries in it\n"
    "  bytes         size of the file\n"
    "  object_bytes  total size of the objects in it, uncompressed\n"
    "  arch          a list of the architectures of the entries\n"
    "  signed        true: with --sign\n";

struct ExportOptions {
  std::string file;
  std::vector<std::string> keys;
  bool plan = false;
  RequestOptions request;
  std::optional<Option> arch;  // set once it is added to the command
  std::string signing_key;
};

using Entries = std::vector<cache::Entry>;

// The parsed key and plan of the command line.
struct Wanted {
  std::optional<cache::SigningKey> signing_key;
  std::optional<warmup::Plan> plan;
};

// All entries. Damaged or unreadable ones are an error, because a bundle without them would not show that they are
// missing.
Expected<Entries> all_entries(cache::Maintenance& cabinet) {
  auto survey = cabinet.survey();
  if (!survey) return propagate(survey);
  if (!survey->unreadable.empty()) return fail(ErrorCode::io, survey->unreadable.front().reason);
  if (survey->damaged.empty()) return std::move(survey->entries);
  return fail(damaged(fmt::format("{} damaged {} in {}", survey->damaged.size(),
                                  survey->damaged.size() == 1 ? "file is" : "files are", cabinet.root().string())));
}

Expected<Entries> entries_of_keys(const std::vector<std::string>& keys, cache::Maintenance& cabinet) {
  Entries entries;
  for (const std::string& key : keys) {
    auto found = find_one(key, cabinet);
    if (!found) return propagate(found);
    entries.push_back(std::move(found->entries.front()));
  }
  return entries;
}

Expected<Entries> entries_of_arch(const std::string& arch, cache::Maintenance& cabinet) {
  auto entries = all_entries(cabinet);
  if (!entries) return entries;
  std::erase_if(*entries, [&](const cache::Entry& entry) { return entry.facts.arch != arch; });
  if (!entries->empty()) return entries;
  return fail(ErrorCode::not_found, fmt::format("no entry in {} is for {}", cabinet.root().string(), arch));
}

// Exactly the kernels of the plan; an error if one is missing.
Expected<Entries> entries_of_plan(const warmup::Plan& plan, const cache::Maintenance& cabinet) {
  Entries entries;
  std::string missing;
  for (const auto& kernel : plan.kernels) {
    const jit::KernelSpec& spec = kernel.spec;
    const cache::Key key = jit::key_of(spec);
    const auto object = cabinet.load(key);
    if (object) entries.push_back({key, object->facts, 0, 0, 0, {}});
    if (object) continue;
    if (object.error().code != ErrorCode::not_found) return fail(damaged(object.error().message));
    missing += fmt::format("  {}  {} N={} K={} {}\n", key.hex(), spec.family_name(), size_text(spec.n),
                           size_text(spec.k), spec.config);
  }
  if (missing.empty()) return entries;
  return fail(ErrorCode::not_found,
              fmt::format("{} of {} kernels of the plan are not in {}; `cubinet warmup` with the same options compiles "
                          "them:",
                          plan.kernels.size() - entries.size(), plan.kernels.size(), cabinet.root().string()),
              missing);
}

Expected<Entries> choose(const ExportOptions& options, const Wanted& wanted, cache::Maintenance& cabinet) {
  if (wanted.plan) return entries_of_plan(*wanted.plan, cabinet);
  if (!options.keys.empty()) return entries_of_keys(options.keys, cabinet);
  if (options.arch->given()) return entries_of_arch(options.request.arch, cabinet);
  auto entries = all_entries(cabinet);
  if (!entries || !entries->empty()) return entries;
  return fail(ErrorCode::not_found, fmt::format("there is no entry in {}", cabinet.root().string()));
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

// Refuses to replace a file of the cabinet or an input file.
Expected<void> check_file(const ExportOptions& options, const std::string& root) {
  return check_outside("FILE", options.file, root)
      .and_then([&] { return check_apart("FILE", options.file, "--sign", options.signing_key); })
      .and_then([&] { return check_apart("FILE", options.file, "--model", options.request.model); })
      .and_then([&] { return check_apart("FILE", options.file, "--from", options.request.recorded_from); });
}

// Parses and checks the command line; errors are usage errors.
Expected<Wanted> understand(const ExportOptions& options, const std::string& root) {
  if (auto allowed = check_file(options, root); !allowed) return propagate(allowed);
  Wanted wanted;
  if (!options.signing_key.empty()) {
    auto key = cache::SigningKey::read(options.signing_key);
    if (!key) return propagate(key);
    wanted.signing_key = std::move(*key);
  }
  if (!options.plan) return wanted;
  const auto request = resolve(options.request, root);
  if (!request) return propagate(request);
  auto plan = warmup::make_plan(request->plan);
  if (!plan) return propagate(plan);
  for (const std::string& text : request->notes) note(text);
  wanted.plan = std::move(*plan);
  return wanted;
}

int export_entries(const CacheOptions& common, const ExportOptions& options, const std::string& root) {
  const auto wanted = understand(options, root);
  if (!wanted) return report_error(wanted.error(), common.json, exit_usage);
  auto cabinet = open_cabinet(root);
  if (!cabinet) return report_error(cabinet.error(), common.json, exit_failed);
  const auto entries = choose(options, *wanted, *cabinet);
  if (!entries) return report_error(entries.error(), common.json, exit_failed);
  std::vector<cache::Key> keys;
  std::set<std::string> archs;
  for (const cache::Entry& entry : *entries) {
    keys.push_back(entry.key);
    archs.insert(entry.facts.arch);
  }
  const auto report = cache::export_bundle(*cabinet, keys, options.file, wanted->signing_key);
  if (!report) return report_error(report.error(), common.json, exit_failed);
  print_report(options, *report, archs, common.json);
  return exit_done;
}

// Adds KEY, --plan and --arch. The other options of a plan need --plan.
void add_choices(Command command, ExportOptions& options) {
  const Option plan =
      command.flag("--plan", options.plan, "Export exactly the kernels of a plan; takes the options of `cubinet plan`");
  const Option keys = add_keys_argument(command, options.keys).excludes(plan);
  for (const Option& option : add_request_options(command, options.request)) {
    if (option.is("--arch")) {
      options.arch = option.excludes(keys)
                         .described("Only entries for this architecture; with --plan the architecture of the plan")
                         .shown_default("");
    } else {
      option.needs(plan);
    }
  }
}

}  // namespace

void add_cache_export(Command cache) {
  const auto options = std::make_shared<ExportOptions>();
  const auto action = [options](const CacheOptions& common, const std::string& root) {
    return export_entries(common, *options, root);
  };
  const Command command =
      add_root_command(cache, "export", "Write entries to a bundle, one file for transport", export_help, action);
  command.option("FILE", options->file, "The bundle to write; an existing file is replaced").required();
  add_choices(command, *options);
  command.file("--sign", options->signing_key, "Sign with this Ed25519 private key (PEM)");
}

}  // namespace cubinet::tools
