#include "warmup/campaign/explain.hpp"

#include <algorithm>

#include "catch.hpp"
#include "jit/families/registry.hpp"
#include "jit/kernel_facts.hpp"
#include "jit/sm90/grouped_gemm.hpp"
#include "unit/cache/support.hpp"

using namespace cubinet;
using warmup::Presence;

namespace {

jit::KernelSpec spec_of(std::int64_t n) {
  const Problem problem{.layout = Layout::masked, .n = n, .k = 7168, .groups = 8};
  return jit::families().select(problem, 64);
}

cache::Object object_of(const jit::KernelSpec& spec, const std::string& record) {
  cache::Object object = test::object_of(0);
  object.record = record;
  object.facts.details = test::details_of(spec.family_name(), spec.n, spec.k, spec.config);
  return object;
}

// A root in which tests store kernels.
struct Root {
  void add(const jit::KernelSpec& spec) { add(spec, jit::record_of(spec)); }
  void add(const jit::KernelSpec& spec, const std::string& record, const std::string& compiler = "NVRTC 13.0.88") {
    cache::Object object = object_of(spec, record);
    object.facts.compiler = compiler;
    REQUIRE(cabinet.publish(jit::key_of(record), object));
  }
  [[nodiscard]] warmup::Explanation explain(const jit::KernelSpec& spec) {
    return warmup::Explainer({maintenance()}).explain(spec);
  }
  [[nodiscard]] std::filesystem::path object(const jit::KernelSpec& spec) const {
    return layout.object(jit::key_of(spec));
  }
  test::TempFolder folder;
  cache::Layout layout{folder / "root"};
  cache::Cabinet cabinet = cache::Cabinet::open(layout.root, true).value();
  [[nodiscard]] cache::Maintenance maintenance() const { return cache::Maintenance(cabinet); }
};

// The record with every digest of a template changed.
std::string with_other_templates(std::string record) {
  const std::size_t begin = record.find("\"templates\":");
  for (std::size_t at = record.find(":\"", begin + 12); at != std::string::npos; at = record.find(":\"", at + 2)) {
    record[at + 2] = record[at + 2] == '0' ? '1' : '0';
  }
  return record;
}

}  // namespace

TEST_CASE("A kernel that is present is a hit, in the first cabinet that has it") {
  Root upper;
  Root lower;
  lower.add(spec_of(4096));
  const warmup::Explainer explainer({cache::Maintenance(upper.cabinet), cache::Maintenance(lower.cabinet)});
  const auto found = explainer.explain(spec_of(4096));
  CHECK(found.presence == Presence::hit);
  CHECK(found.where == lower.layout.root.native());
  CHECK(found.why.empty());
  CHECK_FALSE(found.nearest);
}

// The record of an earlier build, whose keys depended on NVRTC's version.
std::string with_nvrtc(std::string record, const std::string& version) {
  return record.insert(record.find("\"options\":"), "\"nvrtc\":\"" + version + "\",");
}

TEST_CASE("A kernel whose key contains the NVRTC version of an earlier build is stale, with the reason") {
  Root root;
  root.add(spec_of(4096), with_nvrtc(jit::record_of(spec_of(4096)), "13.0"));
  const auto found = root.explain(spec_of(4096));
  CHECK(found.presence == Presence::stale);
  CHECK(found.why == "compiled by an earlier build, for NVRTC 13.0 only; a warmup compiles it again, for every engine");
  REQUIRE(found.nearest);
  REQUIRE(found.nearest->differences.size() == 1);
  CHECK(found.nearest->differences.front().field == "nvrtc");
}

TEST_CASE("A kernel of other templates is stale, and the templates are named") {
  Root root;
  root.add(spec_of(4096), with_other_templates(jit::record_of(spec_of(4096))));
  const auto found = root.explain(spec_of(4096));
  CHECK(found.presence == Presence::stale);
  CHECK(found.why.starts_with("templates differ: bf16_grouped_masked.cuh, "));
  CHECK(found.why.find(" more") != std::string::npos);
}

TEST_CASE("A kernel that was never compiled is explained with the most similar entry") {
  Root root;
  root.add(spec_of(4096));
  jit::sm90::TileConfig config = jit::sm90::config_of(spec_of(8192));
  config.stages += 1;
  root.add(jit::sm90::spec_for({DataType::bf16, Layout::masked, 8192, 128, 32}, config));
  const auto found = root.explain(spec_of(8192));
  CHECK(found.presence == Presence::absent);
  CHECK(found.why == "never compiled; nearest entry: kN 4096, not 8192");
  REQUIRE(found.nearest);
  CHECK(jit::kernel_facts(found.nearest->entry.facts).n == 4096);
}

TEST_CASE("Without an entry of the family there is no nearest entry") {
  Root root;
  const auto found = root.explain(spec_of(4096));
  CHECK(found.presence == Presence::absent);
  CHECK_FALSE(found.nearest);
  CHECK(found.why == "never compiled: there is no entry of this family");
}

TEST_CASE("A damaged kernel is reported as damaged and not moved, and after a look-up as set aside") {
  Root root;
  const auto spec = spec_of(4096);
  root.add(spec);
  std::filesystem::permissions(root.object(spec), std::filesystem::perms::owner_write,
                               std::filesystem::perm_options::add);
  std::filesystem::resize_file(root.object(spec), 100);
  const auto before = test::snapshot(root.layout.objects());
  const auto found = root.explain(spec);
  CHECK(found.presence == Presence::damaged);
  CHECK(found.where == root.layout.root.native());
  CHECK(found.why.find("is damaged") != std::string::npos);
  CHECK(test::snapshot(root.layout.objects()) == before);
  CHECK_FALSE(root.cabinet.holds(found.key));
  CHECK(root.explain(spec).presence == Presence::set_aside);
  root.add(spec);
  CHECK(root.explain(spec).presence == Presence::hit);
}

TEST_CASE("A kernel that is damaged in the root and sound in a layer is a hit in the layer") {
  Root upper;
  Root lower;
  const auto spec = spec_of(4096);
  upper.add(spec);
  lower.add(spec);
  std::filesystem::permissions(upper.object(spec), std::filesystem::perms::owner_write,
                               std::filesystem::perm_options::add);
  std::filesystem::resize_file(upper.object(spec), 100);
  const auto found =
      warmup::Explainer({cache::Maintenance(upper.cabinet), cache::Maintenance(lower.cabinet)}).explain(spec);
  CHECK(found.presence == Presence::hit);
  CHECK(found.where == lower.layout.root.native());
}

TEST_CASE("A kernel that a collection removed is reported as evicted, even if it was damaged before") {
  Root root;
  const auto spec = spec_of(4096);
  root.add(spec);
  std::filesystem::resize_file(root.object(spec), 100);
  REQUIRE_FALSE(root.cabinet.holds(jit::key_of(spec)));
  root.add(spec);
  REQUIRE(root.maintenance().collect({.bytes = 1}, false));
  const auto found = root.explain(spec);
  CHECK(found.presence == Presence::evicted);
  CHECK(found.why.find("limits") != std::string::npos);
  CHECK_FALSE(found.nearest);
  CHECK(root.explain(spec_of(8192)).presence == Presence::absent);
  root.add(spec);
  CHECK(root.explain(spec).presence == Presence::hit);
}

TEST_CASE("A kernel with a file in quarantine may have been compiled again and removed, and the reason says so") {
  Root root;
  const auto spec = spec_of(4096);
  const auto key = jit::key_of(spec);
  root.add(spec);
  std::filesystem::resize_file(root.object(spec), 100);
  REQUIRE_FALSE(root.cabinet.holds(key));
  root.add(spec);
  REQUIRE(root.maintenance().remove(key));
  const auto found = root.explain(spec);
  CHECK(found.presence == Presence::set_aside);
  CHECK(found.why.find("or was removed later") != std::string::npos);
}

TEST_CASE("An entry whose record is not a JSON object makes no kernel stale") {
  Root root;
  root.add(spec_of(4096), "no JSON");
  const auto found = root.explain(spec_of(4096));
  CHECK(found.presence == Presence::absent);
  CHECK(found.why == "never compiled; nearest entry: a record in another format");
}

TEST_CASE("A hit is reported with its compiler, and whether that is an accepted compiler") {
  Root root;
  root.add(spec_of(4096));
  root.add(spec_of(8192), jit::record_of(spec_of(8192)), "NVRTC 13.5.37");
  const auto accepted = root.explain(spec_of(4096));
  CHECK(accepted.compiler == "NVRTC 13.0.88");
  CHECK(accepted.accepted);
  const auto other = root.explain(spec_of(8192));
  CHECK(other.presence == Presence::hit);
  CHECK(other.compiler == "NVRTC 13.5.37");
  CHECK_FALSE(other.accepted);
}

TEST_CASE("A kernel that this driver does not load is unusable, unless another cabinet has one that it loads") {
  Root upper;
  Root lower;
  const auto spec = spec_of(4096);
  upper.add(spec);
  const warmup::Explainer alone({cache::Maintenance(upper.cabinet)}, 12040);
  const auto unusable = alone.explain(spec);
  CHECK(unusable.presence == Presence::unusable);
  CHECK(unusable.where == upper.layout.root.native());
  CHECK(unusable.why == "made by NVRTC 13.0.88, this driver takes CUDA 12.4 at most");
  CHECK_FALSE(unusable.nearest);
  lower.add(spec, jit::record_of(spec), "NVRTC 12.9.86");
  const auto found =
      warmup::Explainer({cache::Maintenance(upper.cabinet), cache::Maintenance(lower.cabinet)}, 12040).explain(spec);
  CHECK(found.presence == Presence::hit);
  CHECK(found.where == lower.layout.root.native());
  CHECK(found.compiler == "NVRTC 12.9.86");
}
