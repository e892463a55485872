#include "bench_cases.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <random>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "jit/problems.hpp"
#include "support/test_problems.hpp"

namespace cubinet::bench {
namespace {

Case case_of(const nlohmann::json& record) {
  const std::string kind = record.at("kind");
  const bool masked = kind.rfind("masked", 0) == 0;
  Case c;
  c.problem.data_type = kind.ends_with("fp8") ? DataType::fp8 : DataType::bf16;
  c.problem.layout = masked ? Layout::masked : Layout::contiguous;
  c.problem.groups = record.at("g");
  c.problem.n = record.at("n");
  c.problem.k = record.at("k");
  c.rows_per_group = record.at(masked ? "em" : "m");
  c.valid = record.at("valid");
  c.padded_m = masked ? 0 : record.at("M").get<std::int64_t>();
  c.capacity = masked ? record.at("max_m").get<std::int64_t>() : 0;
  c.peer_us = record.at("us");
  c.group_class = fmt::format("{} {} g{} m{}", jit::data_type_name(c.problem.data_type), masked ? "masked" : "contig",
                              c.problem.groups, c.rows_per_group);
  c.name = fmt::format("{} n{} k{}", c.group_class, c.problem.n, c.problem.k);
  return c;
}

std::int64_t padded(const std::vector<std::int64_t>& sizes) {
  constexpr std::int64_t alignment = contiguous_alignment();
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}, [](std::int64_t sum, std::int64_t size) {
    return sum + (size + alignment - 1) / alignment * alignment;
  });
}

struct Bounds {
  std::int64_t low;
  std::int64_t high;
  [[nodiscard]] bool hold(std::int64_t size) const { return size >= low && size <= high; }
};

// Draws random sizes within the bounds whose sum is `total`.
std::vector<std::int64_t> draw(std::size_t groups, std::int64_t total, const Bounds& bounds, std::mt19937_64& random) {
  std::uniform_int_distribution<std::int64_t> size(bounds.low, bounds.high);
  std::uniform_int_distribution<std::size_t> group(0, groups - 1);
  std::vector<std::int64_t> sizes(groups);
  for (auto& s : sizes) s = size(random);
  std::int64_t missing = total - std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  while (missing != 0) {
    auto& s = sizes[group(random)];
    const std::int64_t step = missing > 0 ? 1 : -1;
    if (!bounds.hold(s + step)) continue;
    s += step;
    missing -= step;
  }
  return sizes;
}

// Moves rows between random groups. Keeps the sum; keeps a move only if it brings the number of padded rows no further
// from `wanted`.
void approach(std::vector<std::int64_t>& sizes, std::int64_t wanted, const Bounds& bounds, std::mt19937_64& random) {
  std::uniform_int_distribution<std::size_t> group(0, sizes.size() - 1);
  std::uniform_int_distribution<std::int64_t> rows(1, contiguous_alignment());
  std::int64_t distance = std::abs(padded(sizes) - wanted);
  for (int attempt = 0; attempt < 20000 && distance != 0; ++attempt) {
    const std::size_t from = group(random);
    const std::size_t to = group(random);
    const std::int64_t moved = rows(random);
    if (from == to || !bounds.hold(sizes[from] - moved) || !bounds.hold(sizes[to] + moved)) continue;
    sizes[from] -= moved;
    sizes[to] += moved;
    const std::int64_t now = std::abs(padded(sizes) - wanted);
    if (now <= distance) {
      distance = now;
      continue;
    }
    sizes[from] += moved;
    sizes[to] -= moved;
  }
}

}  // namespace

std::int64_t Case::selecting_m() const { return problem.layout == Layout::masked ? rows_per_group : padded_m; }

Expected<std::vector<Case>> read_cases(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) return fail(ErrorCode::not_found, "cannot open " + file.string());
  const std::set<std::string> kinds{"contig_bf16", "masked_bf16", "contig_fp8", "masked_fp8"};
  try {
    std::vector<Case> cases;
    for (const auto& record : nlohmann::json::parse(in)) {
      const std::string kind = record.at("kind");
      if (kinds.contains(kind)) cases.push_back(case_of(record));
    }
    return cases;
  } catch (const nlohmann::json::exception& problem) {
    return fail(ErrorCode::invalid_argument, file.string() + ": " + problem.what());
  }
}

bool matches(const Case& c, const std::string& filter) {
  std::istringstream words(filter);
  const std::string name = " " + c.name + " ";
  for (std::string word; words >> word;) {
    if (name.find(" " + word + " ") == std::string::npos) return false;
  }
  return true;
}

Expected<std::vector<std::int64_t>> group_sizes(const Case& c, std::uint64_t seed) {
  const auto m = static_cast<double>(c.rows_per_group);
  const Bounds bounds{std::max<std::int64_t>(1, static_cast<std::int64_t>(m * 0.7)),
                      static_cast<std::int64_t>(std::ceil(m * 1.3))};
  const auto groups = static_cast<std::size_t>(c.problem.groups);
  if (c.valid < bounds.low * c.problem.groups || c.valid > bounds.high * c.problem.groups) {
    return fail(ErrorCode::invalid_argument, c.name + ": no group sizes in 0.7..1.3 of m give the valid rows");
  }
  std::mt19937_64 random(seed);
  for (int attempt = 0; attempt < 100; ++attempt) {
    auto sizes = draw(groups, c.valid, bounds, random);
    if (c.problem.layout == Layout::masked) return sizes;
    approach(sizes, c.padded_m, bounds, random);
    if (padded(sizes) == c.padded_m) return sizes;
  }
  return fail(ErrorCode::invalid_argument, c.name + ": no group sizes found for the padded rows");
}

warmup::RowPlan plan_of(const Case& c, const std::vector<std::int64_t>& sizes) {
  if (c.problem.layout == Layout::contiguous) return warmup::contiguous_plan(c.problem, test::padded_m_indices(sizes));
  std::vector<std::int32_t> counts;
  for (const std::int64_t size : sizes) counts.push_back(static_cast<std::int32_t>(size));
  return warmup::masked_plan(c.problem, std::move(counts), c.capacity);
}

}  // namespace cubinet::bench
