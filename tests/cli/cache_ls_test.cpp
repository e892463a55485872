#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "command.hpp"
#include "synthetic_cabinet.hpp"
#include "unit/cache/index_holder.hpp"

namespace {

using namespace cubinet::cli;
namespace fs = std::filesystem;

// The numbers of the listed entries, in order.
std::vector<int> listed(const Sandbox& sandbox, Arguments arguments) {
  arguments.insert(arguments.begin(), {"cache", "ls", "--json"});
  std::vector<int> numbers;
  const auto object = object_of(sandbox.run(arguments));
  for (const auto& entry : object.at("entries")) numbers.push_back(number_of(entry.at("key")));
  return numbers;
}

using Numbers = std::vector<int>;

}  // namespace

TEST_CASE("ls shows the entries that pass its filters, and counts the others") {
  const Sandbox sandbox;
  fill_synthetic(sandbox, 4);
  CHECK(listed(sandbox, {}) == Numbers{0, 1, 2, 3});
  CHECK(listed(sandbox, {"--family", "bf16_grouped_masked"}) == Numbers{0, 1, 2, 3});
  CHECK(listed(sandbox, {"--family", "fp8_grouped_masked"}).empty());
  CHECK(listed(sandbox, {"--arch", "sm_90"}).empty());
  CHECK(listed(sandbox, {"--n", "4098"}) == Numbers{2});
  CHECK(listed(sandbox, {"--k", "7168", "--n", "4099"}) == Numbers{3});
  CHECK(listed(sandbox, {"--larger-than", "1TiB"}).empty());
  CHECK(listed(sandbox, {"--used-within", "1w"}).empty());
  CHECK(listed(sandbox, {"--unused-for", "0s"}).size() == 4);
  const auto object = object_of(sandbox.run({"cache", "ls", "--json", "--n", "4098"}));
  CHECK(object.at("total") == 4);
  CHECK(object.at("matched") == 1);
  CHECK(sandbox.run({"cache", "ls", "--n", "4098"}).out.find("1 of 4 entries, ") != std::string::npos);
}

TEST_CASE("ls sorts by the given field, and --limit shows the first entries") {
  const Sandbox sandbox;
  fill_synthetic(sandbox, 4);
  CHECK(listed(sandbox, {"--sort", "n", "--reverse"}) == Numbers{3, 2, 1, 0});
  CHECK(listed(sandbox, {"--sort", "compile", "--limit", "2"}) == Numbers{0, 1});
  CHECK(listed(sandbox, {"--sort", "age", "--limit", "1"}) == Numbers{3});
  const auto object = object_of(sandbox.run({"cache", "ls", "--json", "--limit", "3"}));
  CHECK(object.at("entries").size() == 3);
  CHECK(object.at("matched") == 4);
}

TEST_CASE("A wrong filter, order or limit is refused by name before anything is read") {
  const Sandbox sandbox;
  const std::vector<Arguments> wrong{
      {"--family", ""},   {"--arch", ""},         {"--n", "-1"},          {"--n", "4096x"},
      {"--k", ""},        {"--used-within", "7"}, {"--unused-for", "1y"}, {"--larger-than", "-1"},
      {"--sort", "date"}, {"--limit", "0"},       {"--limit", "all"}};
  for (Arguments arguments : wrong) {
    const std::string option = arguments.front();
    arguments.insert(arguments.begin(), {"cache", "ls", "--json"});
    const Outcome outcome = sandbox.run(arguments);
    INFO(outcome.err);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.err.find(option) != std::string::npos);
    CHECK(object_of(outcome).at("error").at("code") == "invalid_argument");
  }
}

TEST_CASE("If the index cannot be read, filters by use are an error, and other listings work") {
  const Sandbox sandbox;
  fill_synthetic(sandbox, 2);
  const cubinet::test::IndexHolder holder(sandbox.path("home/.cache/cubinet/index.db"));
  const Outcome chosen = sandbox.run({"cache", "ls", "--unused-for", "1d", "--json"});
  CHECK(chosen.exit_code == 1);
  CHECK(chosen.err.find("busy") != std::string::npos);
  CHECK(object_of(chosen).contains("error"));
}

TEST_CASE("If the index cannot be read, orders by use are an error") {
  const Sandbox sandbox;
  fill_synthetic(sandbox, 2);
  const cubinet::test::IndexHolder holder(sandbox.path("home/.cache/cubinet/index.db"));
  for (const char* order : {"used", "hits"}) {
    const Outcome sorted = sandbox.run({"cache", "ls", "--sort", order, "--json"});
    CHECK(sorted.exit_code == 1);
    CHECK(object_of(sorted).contains("error"));
  }
  CHECK(listed(sandbox, {"--sort", "size"}).size() == 2);
}

TEST_CASE("If pins cannot be read, ls says that it does not know which entries are kept") {
  Sandbox sandbox;
  sandbox.unprivileged = true;
  fill_synthetic(sandbox, 1);
  fs::create_directory(home_root(sandbox) + "/pins");
  fs::permissions(sandbox.path("home"), fs::perms(0755));
  for (const auto& part : fs::recursive_directory_iterator(sandbox.path("home"))) {
    fs::permissions(part, part.path().filename() == "pins" ? fs::perms::none : fs::perms(0755));
  }
  const Outcome text = sandbox.run({"cache", "ls"});
  INFO(text.err);
  CHECK(text.exit_code == 0);
  CHECK(text.err.find("pins") != std::string::npos);
  CHECK(text.out.find("  ?\n") != std::string::npos);
  const auto object = object_of(sandbox.run({"cache", "ls", "--json"}));
  CHECK(object.at("kept_problem").get<std::string>().find("pins") != std::string::npos);
  CHECK(object.at("entries").at(0).at("pinned").is_null());
  CHECK(object.at("entries").at(0).at("in_use").is_null());
  CHECK(sandbox.run({"cache", "show", cubinet::test::key_of(0).hex()}).out.find("kept          unknown") !=
        std::string::npos);
}

TEST_CASE("A family with control characters cannot control the terminal or widen the table") {
  const Sandbox sandbox;
  fill_synthetic(sandbox, 1);
  cubinet::cache::Object odd = cubinet::test::object_of(1);
  odd.facts.details.set("family",
                        "\xC2\x9B"
                        "31m\xE2\x80\xAE" +
                            std::string(200, 'x'));
  publish(sandbox, odd);
  const std::string table = sandbox.run({"cache", "ls"}).out;
  CHECK(table.find("\xC2\x9B") == std::string::npos);
  CHECK(table.find("\xE2\x80\xAE") == std::string::npos);
  CHECK(table.find(std::string(60, 'x')) == std::string::npos);
  odd.record = "{\"family\":\"\xC2\x9B\xE2\x80\xAE\"}";
  publish(sandbox, odd);
  const std::string shown = sandbox.run({"cache", "show", cubinet::test::key_of(odd.record).hex()}).out;
  CHECK(shown.find("\\u009b") != std::string::npos);
  CHECK(shown.find("\xC2\x9B") == std::string::npos);
  CHECK(shown.find("\xE2\x80\xAE") == std::string::npos);
  const std::string gc = sandbox.run({"cache", "gc", "--max-size", "1", "--dry-run"}).out;
  CHECK(gc.find("\xC2\x9B") == std::string::npos);
  CHECK(gc.find(std::string(60, 'x')) == std::string::npos);
}
