// Tests with bundles, read-only folders and missing folders as layers and roots.
#include <unistd.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "command.hpp"
#include "synthetic_cabinet.hpp"
#include "unit/cache/bundle_builder.hpp"

namespace {

using namespace cubinet::cli;
namespace fs = std::filesystem;
namespace test = cubinet::test;

// Creates a bundle with one kernel and returns the kernel's key. The cabinet that it was exported from is removed.
std::string make_bundle(const Sandbox& sandbox, const std::string& file, const Arguments& more = {}) {
  const std::string root = sandbox.path("exported");
  REQUIRE(sandbox.run(with({"warmup", "--quiet", "--cache", root}, one_kernel)).exit_code == 0);
  const Outcome exported = sandbox.run(with({"cache", "export", file, "--cache", root}, more));
  INFO(exported.err);
  REQUIRE(exported.exit_code == 0);
  const std::string key =
      object_of(sandbox.run({"cache", "ls", "--json", "--cache", root})).at("entries").at(0).at("key");
  fs::remove_all(root);
  return key;
}

// The output of explain for the one kernel.
nlohmann::json explained(const Sandbox& sandbox, const Arguments& more = {}) {
  const Outcome outcome = sandbox.run(with(with({"cache", "explain", "--json"}, one_kernel), more));
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  auto object = object_of(outcome);
  object["said"] = outcome.err;
  return object;
}

}  // namespace

TEST_CASE("explain finds a kernel in a bundle, and compares with its entries") {
  Sandbox sandbox;
  const std::string bundle = sandbox.path("x.cubinet");
  const std::string key = make_bundle(sandbox, bundle);
  auto stranger = test::object_of(0);
  stranger.facts.details.set("family", "another");
  publish(sandbox, stranger);
  sandbox.environment["CUBINET_CACHE_PATH"] = bundle;
  const auto found = explained(sandbox);
  CHECK(found.at("kernels").at(0).at("state") == "hit");
  CHECK(found.at("kernels").at(0).at("where") == bundle);
  CHECK(found.at("searched") == nlohmann::json::array({home_root(sandbox), bundle}));
  const auto other =
      object_of(sandbox.run({"cache", "explain", "--json", "--shape", "256,128,2", "--layout", "masked", "--m", "8"}));
  for (const auto& kernel : other.at("kernels")) CHECK(kernel.at("state") == "absent");
  CHECK(holds(other.at("kernels").at(0).at("why"), "kN 128, not "));
  CHECK(other.at("kernels").at(0).at("nearest") == key);
}

TEST_CASE("explain names the bundle and the key of a damaged entry in a bundle") {
  Sandbox sandbox;
  const std::string bundle = sandbox.path("x.cubinet");
  const std::string key = make_bundle(sandbox, bundle);
  fill_synthetic(sandbox, 1);
  std::string bytes = test::contents(bundle);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  sandbox.environment["CUBINET_CACHE_PATH"] = sandbox.file("damaged.cubinet", bytes);
  const auto kernel = explained(sandbox).at("kernels").at(0);
  CHECK(kernel.at("state") == "damaged");
  CHECK(kernel.at("where") == sandbox.path("damaged.cubinet"));
  CHECK(holds(kernel.at("why"), sandbox.path("damaged.cubinet") + " is refused: entry " + key));
}

TEST_CASE("explain ignores the bundles that an engine ignores, because CUBINET_BUNDLE_KEY does not verify them") {
  Sandbox sandbox;
  const std::string own = sandbox.file("private.pem", test::private_pem);
  const std::string bare = sandbox.path("bare.cubinet"), good = sandbox.path("good.cubinet");
  make_bundle(sandbox, bare);
  make_bundle(sandbox, good, {"--sign", own});
  fill_synthetic(sandbox, 1);
  sandbox.environment["CUBINET_BUNDLE_KEY"] = sandbox.file("public.pem", test::public_pem);
  sandbox.environment["CUBINET_CACHE_PATH"] = bare;
  const auto left_out = explained(sandbox);
  CHECK(left_out.at("hits") == 0);
  CHECK(left_out.at("searched") == nlohmann::json::array({home_root(sandbox)}));
  CHECK(holds(left_out.at("said"), "not signed"));
  sandbox.environment["CUBINET_CACHE_PATH"] = bare + ":" + good;
  const auto signed_one = explained(sandbox);
  CHECK(signed_one.at("hits") == 1);
  CHECK(signed_one.at("kernels").at(0).at("where") == good);
  CHECK(signed_one.at("searched") == nlohmann::json::array({home_root(sandbox), good}));
}

TEST_CASE("explain of a problem works without a root, as an engine does, but needs one place") {
  Sandbox sandbox;
  const std::string bundle = sandbox.path("x.cubinet");
  make_bundle(sandbox, bundle);
  const Arguments nowhere{"--cache", sandbox.path("none")};
  const Outcome nothing = sandbox.run(with(with({"cache", "explain", "--json"}, one_kernel), nowhere));
  CHECK(nothing.exit_code == 1);
  CHECK(object_of(nothing).at("error").at("code") == "not_found");
  sandbox.environment["CUBINET_CACHE_PATH"] = sandbox.path("gone.cubinet") + ":" + bundle;
  const auto found = explained(sandbox, nowhere);
  CHECK(found.at("hits") == 1);
  CHECK(found.at("searched") == nlohmann::json::array({bundle}));
  CHECK(holds(found.at("said"), sandbox.path("none")));
  CHECK(holds(found.at("said"), sandbox.path("gone.cubinet")));
  CHECK_FALSE(fs::exists(sandbox.path("none")));
}

TEST_CASE("explain of a key searches the layers for the wanted key, too") {
  Sandbox sandbox;
  const std::string bundle = sandbox.path("x.cubinet");
  const std::string key = make_bundle(sandbox, bundle);
  REQUIRE(sandbox.run({"cache", "import", bundle, "--cache", sandbox.path("layer")}).exit_code == 0);
  auto old = test::object_of(0);
  auto record = object_of(sandbox.run({"cache", "show", key, "--json", "--cache", sandbox.path("layer")})).at("record");
  record["nvrtc"] = "12.1";
  old.record = record.dump();
  publish(sandbox, old);
  const Arguments asked{"cache", "explain", test::key_of(old.record).hex(), "--json"};
  CHECK(object_of(sandbox.run(asked)).at("wanted_state") == "stale");
  sandbox.environment["CUBINET_CACHE_PATH"] = bundle;
  const auto found = object_of(sandbox.run(asked));
  CHECK(found.at("wanted") == key);
  CHECK(found.at("wanted_state") == "hit");
}

TEST_CASE("Every command refuses a bundle named as the cabinet, says how to use it, and does not change it") {
  const Sandbox sandbox;
  const std::string bundle = sandbox.file("x.cubinet", test::written_bundle({0}));
  const std::string key = test::key_of(0).hex();
  const auto before = test::snapshot(sandbox.folder());
  for (const Arguments& command : std::vector<Arguments>{{"ls"},
                                                         {"show", key},
                                                         {"explain", key},
                                                         with({"explain"}, one_kernel),
                                                         {"stats"},
                                                         {"report", sandbox.path("page.html")},
                                                         {"verify"},
                                                         {"verify", "--repair"},
                                                         {"rm", key},
                                                         {"gc", "--dry-run"},
                                                         {"pin", key},
                                                         {"unpin", key},
                                                         {"export", sandbox.path("other.cubinet")}}) {
    const Outcome outcome = sandbox.run(with(with({"cache"}, command), {"--cache", bundle}));
    INFO(command.front() << ": " << outcome.err);
    CHECK(outcome.exit_code == 1);
    CHECK(holds(outcome.err, "cubinet cache import"));
    CHECK(holds(outcome.err, "CUBINET_CACHE_PATH"));
  }
  CHECK(test::snapshot(sandbox.folder()) == before);
}

TEST_CASE("Every command that only reads works on a folder that cannot be written") {
  Sandbox sandbox;
  fill_synthetic(sandbox, 2);
  const std::string key = test::key_of(0).hex();
  REQUIRE(sandbox.run({"cache", "pin", key}).exit_code == 0);
  test::TempFolder outside;
  fs::permissions(outside.path(), fs::perms::all);
  for (fs::path folder = home_root(sandbox); folder != sandbox.folder(); folder = folder.parent_path()) {
    fs::permissions(folder, fs::perms{0755});
  }
  const auto before = test::snapshot(home_root(sandbox));
  sandbox.unprivileged = true;
  for (const Arguments& command : std::vector<Arguments>{{"ls"},
                                                         {"show", key},
                                                         {"explain", key},
                                                         with({"explain"}, one_kernel),
                                                         {"stats"},
                                                         {"report", (outside / "page.html").string()},
                                                         {"verify"},
                                                         {"gc", "--dry-run"},
                                                         {"export", (outside / "x.cubinet").string()}}) {
    const Outcome outcome = sandbox.run(with({"cache"}, command));
    INFO(command.front() << ": " << outcome.err);
    CHECK(outcome.exit_code == 0);
  }
  const auto listed = object_of(sandbox.run({"cache", "ls", "--json"})).at("entries");
  REQUIRE(listed.size() == 2);
  for (const auto& entry : listed) CHECK(entry.at("pinned") == (entry.at("key") == key));
  CHECK(test::snapshot(home_root(sandbox)) == before);
}

TEST_CASE("An output file inside the cabinet is refused before any work, for any spelling of its path") {
  const Sandbox sandbox;
  fill_synthetic(sandbox, 2);
  const std::string root = home_root(sandbox);
  fs::create_directory_symlink(root, sandbox.path("link"));
  const auto before = test::snapshot(root);
  for (const char* command : {"report", "export"}) {
    for (const std::string& file :
         {root + "/index.db", root + "/FORMAT", root + "/page", root + "/objects/new", sandbox.path("link/page")}) {
      const Outcome outcome = sandbox.run({"cache", command, file, "--json"});
      INFO(command << " " << file << ": " << outcome.err);
      CHECK(outcome.exit_code == 2);
      CHECK(object_of(outcome).at("error").at("code") == "invalid_argument");
      CHECK(holds(outcome.err, "FILE: " + file + " is inside the cabinet " + root));
    }
  }
  CHECK(test::snapshot(root) == before);
}

TEST_CASE("A folder of objects that cannot be listed is named with the reason, and the others are listed") {
  if (::geteuid() != 0) CUBINET_SKIP("must be root to hide a folder from another user");
  Sandbox sandbox;
  fill_synthetic(sandbox, 2);
  fs::permissions(sandbox.path("home"), fs::perms{0755});
  for (const auto& item : fs::recursive_directory_iterator(sandbox.path("home"))) {
    fs::permissions(item.path(), fs::perms{item.is_directory() ? 0755U : 0644U});
  }
  const std::string hidden = cubinet::test::key_of(0).hex();
  fs::permissions(home_root(sandbox) + "/objects/" + hidden.substr(0, 2), fs::perms{0700});
  sandbox.unprivileged = true;
  const Outcome listing = sandbox.run({"cache", "ls", "--json"});
  CHECK(listing.exit_code == 0);
  CHECK(object_of(listing).at("total") == 1);
  CHECK(object_of(listing).at("unreadable").size() == 1);
  CHECK(object_of(sandbox.run({"cache", "stats", "--json"})).at("unreadable").size() == 1);
  const Outcome verified = sandbox.run({"cache", "verify", "--json"});
  CHECK(verified.exit_code == 1);
  CHECK(object_of(verified).at("damaged").empty());
  CHECK(object_of(verified).at("unreadable").size() == 1);
  const Outcome shown = sandbox.run({"cache", "show", hidden});
  CHECK(shown.exit_code == 1);
  CHECK(sandbox.run({"cache", "show", cubinet::test::key_of(1).hex()}).exit_code == 0);
  CHECK(sandbox.run({"cache", "export", sandbox.path("home/bundle")}).exit_code == 1);
  for (const Outcome& outcome : {listing, verified, shown}) {
    CHECK(outcome.err.find("--repair") == std::string::npos);
    const bool named = (outcome.err + outcome.out).find("Permission denied") != std::string::npos;
    CHECK(named);
  }
}

TEST_CASE("An import keeps the limits of the environment, and one that names a wrong limit is refused") {
  Sandbox sandbox;
  const std::string bundle = sandbox.file("x.cubinet", test::written_bundle({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  sandbox.environment["CUBINET_CACHE_MAX_ENTRIES"] = "few";
  const Outcome refused = sandbox.run({"cache", "import", bundle});
  CHECK(refused.exit_code == 2);
  CHECK(holds(refused.err, "CUBINET_CACHE_MAX_ENTRIES"));
  CHECK_FALSE(fs::exists(home_root(sandbox)));
  sandbox.environment["CUBINET_CACHE_MAX_ENTRIES"] = "10";
  CHECK(sandbox.run({"cache", "import", bundle}).exit_code == 1);  // the bundle is incomplete
  const auto listed = object_of(sandbox.run({"cache", "ls", "--json"}));
  CHECK(listed.at("total") <= 10);
  CHECK(listed.at("total") >= 9);
}
