#include "cache_run.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "cache/layout.hpp"
#include "cache/maintenance.hpp"
#include "cache/object_format.hpp"
#include "jit/kernel_facts.hpp"
#include "util/digest.hpp"
#include "util/files.hpp"

namespace cubinet::bench {
namespace {

namespace fs = std::filesystem;

// A record as long as those of kernels, because a listing reads all records.
std::string record_of(int number) {
  return fmt::format(R"({{"benchmark":"cache","number":{},"padding":"{:x<1900}"}})", number, "");
}

cache::Key key_of(int number) { return {util::sha256(record_of(number))}; }

cache::Object object_of(int number, int payload_kib) {
  cache::Object object;
  object.record = record_of(number);
  object.payload.resize(static_cast<std::size_t>(payload_kib) * 1024);
  for (std::size_t i = 0; i < object.payload.size(); ++i) {
    object.payload[i] = static_cast<char>((i * 131 + static_cast<std::size_t>(number)) >> 3U);
  }
  object.facts.arch = "sm_90a";
  jit::KernelFacts facts;
  facts.family = "bf16_grouped_masked";
  facts.kernel_names = {facts.family};
  object.facts.details = jit::to_details(facts);
  return object;
}

// A path for a root. The destructor removes the root.
class Root {
 public:
  explicit Root(const fs::path& place) : path_(place / util::unique_name("cubinet-bench-cache-")) {}
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;
  ~Root() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Writes object files directly, without fsync and without index rows. Publishing 100,000 entries would take minutes,
// and neither matters for a hit.
Expected<void> fill(const cache::Layout& layout, const CacheOptions& options, int entries) {
  for (int number = 0; number < entries; ++number) {
    const cache::Key key = key_of(number);
    // Entries that are looked up have the full size; the others only have to exist.
    const auto object = object_of(number, number < options.sizes.front() ? options.payload_kib : 1);
    const auto footer = cache::encode_footer(key, object);
    if (!footer) return propagate(footer);
    const fs::path path = layout.object(key);
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    std::ofstream file(path, std::ios::binary);
    if (!(file << object.payload << *footer).flush()) return fail(ErrorCode::io, "cannot write " + path.native());
  }
  return {};
}

// The median time of `work(round)` in microseconds.
template <class Work>
double median_us(int rounds, const Work& work) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    const auto start = Clock::now();
    work(round);
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[static_cast<std::size_t>(rounds) / 2];
}

// The median time of a listing in microseconds. The first listing writes the index rows and is not counted.
Expected<double> list_us(cache::Cabinet& cabinet, int entries) {
  constexpr int rounds = 5;
  const auto all = static_cast<std::size_t>(entries);
  cache::Maintenance maintenance(cabinet);
  auto listed = maintenance.survey();
  const double median = median_us(rounds, [&](int) {
    if (listed) listed = maintenance.survey();
  });
  if (!listed) return propagate(listed);
  if (listed->entries.size() != all) return fail(ErrorCode::io, "a listing of the benchmark is not whole");
  return median;
}

// Times look-ups of the first entries and stores the medians in `figures`.
Expected<void> measure_hits(const CacheOptions& options, const cache::Cabinet& cabinet, CacheFigures& figures) {
  const cache::Layout layout{cabinet.root()};
  const int wanted = options.sizes.front();
  bool good = true;
  // Keys and records are computed before timing: an engine, too, has computed them from the problem before a look-up.
  std::vector<std::pair<cache::Key, std::string>> asked;
  for (int number = 0; number < wanted; ++number) asked.emplace_back(key_of(number), record_of(number));
  const auto at = [&](int round) -> const auto& { return asked[static_cast<std::size_t>(round % wanted)]; };
  figures.hit_us = median_us(options.rounds, [&](int round) {
    const auto& [key, record] = at(round);
    good = good && cabinet.find(key, record).has_value();
  });
  figures.read_us = median_us(options.rounds, [&](int round) {
    good = good && util::read_file(layout.object(at(round).first), cache::max_object_bytes, false).has_value();
  });
  const auto bytes = util::read_file(layout.object(key_of(0)), cache::max_object_bytes, false);
  if (!bytes) return propagate(bytes);
  const util::Sha256 digest = util::sha256(*bytes);
  figures.digest_us = median_us(options.rounds, [&](int) { good = good && util::sha256(*bytes) == digest; });
  if (!good) return fail(ErrorCode::io, "an entry of the benchmark was not found");
  return {};
}

Expected<CacheFigures> measure(const CacheOptions& options, int entries) {
  const Root root(options.place);
  auto cabinet = cache::Cabinet::open(root.path(), true);
  if (!cabinet) return propagate(cabinet);
  const cache::Layout layout{root.path()};
  if (auto filled = fill(layout, options, entries); !filled) return propagate(filled);
  CacheFigures figures{.entries = entries};
  bool good = true;
  figures.open_us =
      median_us(options.rounds, [&](int) { good = good && cache::Cabinet::open(root.path(), true).has_value(); });
  if (!good) return fail(ErrorCode::io, "the root of the benchmark does not open");
  const auto listing = list_us(*cabinet, entries);
  if (!listing) return propagate(listing);
  figures.list_us = *listing;
  if (auto measured = measure_hits(options, *cabinet, figures); !measured) return propagate(measured);
  return figures;
}

}  // namespace

Expected<std::vector<CacheFigures>> run_cache(const CacheOptions& options) {
  std::vector<CacheFigures> all;
  for (const int entries : options.sizes) {
    auto figures = measure(options, entries);
    if (!figures) return propagate(figures);
    all.push_back(*figures);
  }
  return all;
}

}  // namespace cubinet::bench
