// cubinet cache import: copies the entries of a bundle to the cabinet.
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cache/bundle_transfer.hpp"
#include "cubinet/cubinet.hpp"
#include "jit/accepted_compilers.hpp"
#include "tools/cache_command.hpp"
#include "tools/output.hpp"
#include "tools/toolchain.hpp"
#include "util/text.hpp"

namespace cubinet::tools {
namespace {

constexpr const char* import_help =
    "Reads and checks the whole bundle first: every digest, key and record, and the signature if a key is\n"
    "named. If anything is wrong, the exit code is 1 and the cabinet is unchanged. Entries that the\n"
    "cabinet has already are kept. The cabinet is created if it does not exist, and kept within\n"
    "CUBINET_CACHE_MAX_SIZE and CUBINET_CACHE_MAX_ENTRIES. An import counts as a use. The exit code is\n"
    "also 1 if the limits left no room for all entries of the bundle.\n\n"
    "Example:\n"
    "  cubinet cache import model.cubinet --cache /var/cache/cubinet\n"
    "  cubinet cache import model.cubinet --verify-key public.pem --require-signature\n"
    "  openssl pkey -in private.pem -pubout -out public.pem       extracts the key that verifies\n\n"
    "With --json:\n"
    "  cache         the cabinet's folder\n"
    "  file          the bundle\n"
    "  entries       number of entries in it\n"
    "  imported      those that are new in the cabinet\n"
    "  there         those that the cabinet had already\n"
    "  evicted       those that the limits left no room for\n"
    "  bytes         total size of the new files\n"
    "  arch          a list of the architectures of the entries\n"
    "  signature     \"verified\", \"unverified\" (signed, but no key was named) or \"none\"\n";

struct ImportOptions {
  std::string file;
  std::string verify_key;
  bool require_signature = false;
};

// The key that must verify the bundle's signature, if the command line or the environment names one.
Expected<std::optional<cache::VerifyKey>> wanted_key(const ImportOptions& options) {
  const std::string file =
      options.verify_key.empty() ? ServiceOptions::from_environment().bundle_key : options.verify_key;
  if (!file.empty()) return cache::VerifyKey::read(file).map([](auto key) { return std::optional(std::move(key)); });
  if (!options.require_signature) return std::nullopt;
  return fail(ErrorCode::invalid_argument,
              "--require-signature needs a key: give --verify-key FILE, or set CUBINET_BUNDLE_KEY");
}

void print_report(const ImportOptions& options, const std::string& root, const cache::BundleContents& contents,
                  const cache::ImportReport& report, bool verified, bool json) {
  if (json) {
    print_object(Json{{"cache", root},
                      {"file", options.file},
                      {"entries", contents.size()},
                      {"imported", report.imported},
                      {"there", report.there},
                      {"evicted", report.evicted},
                      {"bytes", report.bytes},
                      {"arch", cache::architectures(contents)},
                      {"signature", verified               ? "verified"
                                    : contents.is_signed() ? "unverified"
                                                           : "none"}});
    return;
  }
  const std::vector<std::string> archs = cache::architectures(contents);
  print(one_line(fmt::format("{}{}: {} imported ({}), {} there before; in {}{}",
                             count_text(static_cast<std::int64_t>(contents.size()), "entry"),
                             archs.empty() ? "" : fmt::format(" for {}", fmt::join(archs, ", ")), report.imported,
                             util::format_byte_size(static_cast<std::int64_t>(report.bytes)), report.there, root,
                             verified ? "; signature verified" : "")) +
        "\n");
}

int import_entries(const ImportOptions& options, const std::string& root, bool json) {
  const auto limits = environment_limits();
  if (!limits) return report_error(limits.error(), json, exit_usage);
  const auto key = wanted_key(options);
  if (!key) return report_error(key.error(), json, exit_usage);
  const auto bundle = cache::Bundle::open(options.file, *key);
  if (!bundle) return report_error(bundle.error(), json, exit_failed);
  const auto report = cache::import_bundle(*bundle, root, {.limits = *limits, .preference = jit::preference_for(0)});
  if (!report) return report_error(report.error(), json, exit_failed);
  if (bundle->contents().is_signed() && !*key) {
    note(options.file + " is signed, but the signature was not verified; name the key with --verify-key FILE");
  }
  print_report(options, root, bundle->contents(), *report, key->has_value(), json);
  if (report->evicted == 0) return exit_done;
  note(fmt::format(
      "{} of the bundle {} not in the cabinet, because of its limits; see "
      "CUBINET_CACHE_MAX_SIZE and CUBINET_CACHE_MAX_ENTRIES",
      count_text(static_cast<std::int64_t>(report->evicted), "entry"), report->evicted == 1 ? "is" : "are"));
  return exit_failed;
}

}  // namespace

void add_cache_import(Command cache) {
  const auto options = std::make_shared<ImportOptions>();
  const auto action = [options](const CacheOptions& common, const std::string& root) {
    return import_entries(*options, root, common.json);
  };
  const Command command = add_root_command(cache, "import", "Copy the entries of a bundle to the cabinet, all or none",
                                           import_help, action);
  command.option("FILE", options->file, "The bundle to read").required();
  command.file("--verify-key", options->verify_key,
               "Accept only a bundle with a valid signature for this Ed25519 public key (PEM; default: "
               "CUBINET_BUNDLE_KEY)");
  command.flag("--require-signature", options->require_signature,
               "Also fail if no key is named, so that only verified bundles are imported");
}

}  // namespace cubinet::tools
