// Statistics of a cabinet.
#include "cache/maintenance.hpp"
#include "capi/request.hpp"
#include "capi/support.hpp"
#include "warmup/campaign/setup.hpp"

namespace cubinet::capi {
namespace {

cubinet_cache_figures figures_of(const cache::Stats& stats) {
  cubinet_cache_figures figures = CUBINET_CACHE_FIGURES_INIT;
  figures.entries = stats.entries;
  figures.bytes = stats.bytes;
  figures.quarantined = stats.quarantined;
  const bool known = stats.index_problem.empty();
  const auto counter = [&](std::int64_t value) { return known ? value : -1; };
  figures.hits = counter(stats.counters.hits);
  figures.misses = counter(stats.counters.misses);
  figures.evicted_misses = counter(stats.counters.evicted_misses);
  figures.compiles = counter(stats.counters.compiles);
  figures.damage = counter(stats.counters.damage);
  figures.evictions = counter(stats.counters.evictions);
  return figures;
}

Expected<void> give_stats(const cubinet_options* options, cubinet_cache_figures* figures) {
  const auto room = check_given(figures, "figures").and_then([&] {
    return check_size(figures, sizeof(cubinet_cache_figures), "figures");
  });
  if (!room) return room;
  return options_of(options)
      .and_then([](const ServiceOptions& own) { return warmup::cabinet_root(own.cache_root, field_names); })
      .and_then([](const std::string& root) { return cache::Maintenance::open(root); })
      .and_then([](cache::Maintenance cabinet) { return cabinet.stats(); })
      .and_then([&](const cache::Stats& stats) { return give(figures, figures_of(stats), "figures"); });
}

}  // namespace
}  // namespace cubinet::capi

cubinet_status cubinet_cache_stats(const cubinet_options* options, cubinet_cache_figures* figures) {
  return cubinet::capi::guarded([&] { return cubinet::capi::give_stats(options, figures); });
}
