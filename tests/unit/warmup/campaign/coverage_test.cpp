#include "warmup/campaign/coverage.hpp"

#include <functional>

#include "catch.hpp"
#include "unit/cache/support.hpp"
#include "unit/jit/fake_compiler.hpp"
#include "unit/util/temp_folder.hpp"

namespace {

using namespace cubinet;
using warmup::covers;
using warmup::find_coverage;
using warmup::Plan;
using warmup::PlanRequest;
using warmup::Report;
using warmup::subject_of;
namespace fs = std::filesystem;

const Problem a{.layout = Layout::masked, .n = 1024, .k = 512, .groups = 4};
const Problem b{.layout = Layout::contiguous, .n = 1024, .k = 512, .groups = 4};
const Problem c{.data_type = DataType::fp8, .layout = Layout::masked, .n = 2048, .k = 1024, .groups = 8};

PlanRequest request_of(const std::vector<Problem>& problems, MRange range = {1, 4096}) {
  PlanRequest request;
  request.problems = warmup::over_range(problems, range);
  return request;
}

cache::Entry entry_of(int number, const std::string& compiler) {
  cache::Entry entry;
  entry.key = test::key_of(number);
  entry.facts.compiler = compiler;
  return entry;
}

// A root, and the compiler that warms it.
struct Warmed {
  Report warm(const PlanRequest& request) {
    const Plan plan = warmup::make_plan(request).value();
    return warmup::warm(plan, compiler, &cabinet, 1, {});
  }
  Expected<bool> try_to_record(const PlanRequest& request, const Report& report) {
    return warmup::record_coverage(cabinet, warmup::make_plan(request).value(), subject_of(request), report);
  }
  bool record(const PlanRequest& request, const Report& report) { return try_to_record(request, report).value(); }
  bool warm_and_record(const PlanRequest& request) { return record(request, warm(request)); }
  bool is_covered(const PlanRequest& request) {
    return find_coverage(cabinet, warmup::make_plan(request).value(), subject_of(request)).has_value();
  }
  std::vector<cache::Key> keys(const PlanRequest& request) {
    return warmup::keys_of(warmup::make_plan(request).value());
  }

  test::TempFolder folder;
  cache::Layout layout{folder / "root"};
  cache::Cabinet cabinet = cache::Cabinet::open(layout.root, true, {.preference = jit::preference_for(0)}).value();
  [[nodiscard]] cache::Maintenance maintenance() const { return cache::Maintenance(cabinet); }
  test::FakeCompiler compiler;
};

}  // namespace

TEST_CASE("A subject does not depend on the order in which problems are named, or how often") {
  CHECK((subject_of(request_of({a, b, c})) == subject_of(request_of({c, b, a, b}))));
  CHECK_FALSE((subject_of(request_of({a, b})) == subject_of(request_of({a}))));
}

TEST_CASE("The subject of the generic kernels has no sizes and differs from that of a request for shapes") {
  auto request = request_of({{.n = 128, .k = 128, .groups = 1}, {.n = 256, .k = 128, .groups = 1}});
  const auto shapes = subject_of(request);
  request.specialized = false;
  request.generic = true;
  const auto generic = subject_of(request);
  CHECK((generic.problems == std::vector<ProblemRange>{{Problem(), {1, 4096}}}));
  CHECK((warmup::subject_from_json(to_json(generic)) == generic));
  CHECK_FALSE(covers(generic, shapes));
  CHECK_FALSE(covers(shapes, generic));
}

TEST_CASE("A subject is read back from its text, and any other text is refused") {
  auto subject = subject_of(request_of({a, b, c}));
  CHECK((warmup::subject_from_json(to_json(subject)) == subject));
  subject.executed = {"NVIDIA H200", "580.10"};
  const std::string text = to_json(subject);
  CHECK((warmup::subject_from_json(text) == subject));
  for (std::size_t size = 0; size < text.size(); ++size) CHECK_FALSE(warmup::subject_from_json(text.substr(0, size)));
  std::string more = text;
  more.insert(1, R"("also":1,)");
  for (const std::string& other :
       {more, text + " ", std::string("{}"), std::string("[]"), std::string("null"), std::string(100'000, '[')}) {
    CHECK_FALSE(warmup::subject_from_json(other));
  }
}

TEST_CASE("A subject covers smaller requests, and none that differs in anything that kernels depend on") {
  const auto recorded = subject_of(request_of({a, b, c}, {1, 4096}));
  CHECK(covers(recorded, recorded));
  CHECK(covers(recorded, subject_of(request_of({b}, {1, 4096}))));
  CHECK(covers(recorded, subject_of(request_of({c, a}, {16, 64}))));
  CHECK_FALSE(covers(subject_of(request_of({b})), recorded));
  CHECK_FALSE(covers(recorded, subject_of(request_of({a}, {1, 4097}))));
  CHECK_FALSE(covers(subject_of(request_of({a}, {2, 64})), subject_of(request_of({a}, {1, 64}))));
  for (const auto& change : std::vector<void (*)(Problem&)>{
           [](Problem& p) { p.groups = 5; }, [](Problem& p) { p.n += 128; }, [](Problem& p) { p.k += 128; },
           [](Problem& p) { p.data_type = DataType::fp8; }}) {
    Problem other = a;
    change(other);
    CHECK_FALSE(covers(recorded, subject_of(request_of({other}))));
  }
  auto wanted = recorded;
  wanted.architecture = "sm_100a";
  CHECK_FALSE(covers(recorded, wanted));
  wanted = recorded;
  wanted.num_sms = 78;
  CHECK_FALSE(covers(recorded, wanted));
  wanted = recorded;
  wanted.templates = "other";
  CHECK_FALSE(covers(recorded, wanted));
}

TEST_CASE("Each problem is covered over its own range of M") {
  const auto subject = [](const std::vector<ProblemRange>& problems) {
    PlanRequest request;
    request.problems = problems;
    return subject_of(request);
  };
  const auto recorded = subject({{a, {1, 64}}, {b, {128, 65536}}, {a, {65, 70}}});
  CHECK((warmup::subject_from_json(to_json(recorded)) == recorded));
  CHECK(covers(recorded, subject({{a, {1, 70}}})));
  CHECK(covers(recorded, subject({{b, {4096, 4096}}, {a, {2, 64}}})));
  CHECK_FALSE(covers(recorded, subject({{a, {1, 71}}})));
  CHECK_FALSE(covers(recorded, subject({{b, {1, 65536}}})));
  CHECK_FALSE(covers(subject({{a, {1, 10}}, {a, {20, 64}}}), subject({{a, {5, 30}}})));
}

TEST_CASE("The record of a build with one range of M for all problems is skipped") {
  const std::string text = R"({"arch":"sm_90a","executed":null,"m":[1,4096],"num_sms":132,"problems":[{"dtype":"bf16",)"
                           R"("groups":4,"k":512,"layout":"masked","n":1024}],"templates":")" +
                           warmup::templates_digest() + R"("})";
  CHECK_FALSE(warmup::subject_from_json(text));
}

TEST_CASE("Execution is covered by execution on a device of the same name, and is ignored if it is not requested") {
  const auto compiled = subject_of(request_of({a}));
  const auto executed = subject_of(request_of({a}), warmup::Executed{"H200", "580.10"});
  CHECK(covers(executed, compiled));
  CHECK_FALSE(covers(compiled, executed));
  CHECK(covers(executed, subject_of(request_of({a}), warmup::Executed{"H200", "590.1"})));
  CHECK_FALSE(covers(executed, subject_of(request_of({a}), warmup::Executed{"H100", "580.10"})));
}

TEST_CASE("The digest of the templates changes with any file's name or text") {
  const auto file = [](const char* name, const char* text) { return jit::make_template_file(name, text); };
  const auto digest = warmup::templates_digest({file("a.cuh", "1"), file("b.cuh", "2")});
  CHECK(digest == warmup::templates_digest({file("a.cuh", "1"), file("b.cuh", "2")}));
  CHECK(digest != warmup::templates_digest({file("a.cuh", "1"), file("b.cuh", "3")}));
  CHECK(digest != warmup::templates_digest({file("a.cuh", "1"), file("c.cuh", "2")}));
  CHECK(digest != warmup::templates_digest({file("a.cuh", "1")}));
}

TEST_CASE("After a complete warmup its request is covered, and every smaller one, and no larger one") {
  Warmed root;
  CHECK_FALSE(root.is_covered(request_of({a, b})));
  REQUIRE(root.warm_and_record(request_of({a, b})));
  CHECK(root.is_covered(request_of({a, b})));
  CHECK(root.is_covered(request_of({b}, {1, 8})));
  CHECK_FALSE(root.is_covered(request_of({a, c})));
  CHECK_FALSE(root.is_covered(request_of({a}, {1, 8192})));
}

TEST_CASE("A warmup from a coverage record hits every kernel, records the hits and needs no compiler") {
  Warmed root;
  const PlanRequest request = request_of({a, b, c});
  const Plan plan = warmup::make_plan(request).value();
  const auto wanted = subject_of(request);
  CHECK_FALSE(warmup::warm_from_coverage(root.cabinet, plan, wanted));
  REQUIRE(root.warm_and_record(request));
  const auto report = warmup::warm_from_coverage(root.cabinet, plan, wanted);
  REQUIRE(report);
  CHECK(report->hits == static_cast<std::int64_t>(plan.kernels.size()));
  CHECK(report->compiled == 0);
  CHECK(report->failed.empty());
  CHECK(report->remaining.empty());
  CHECK(report->persist == cache::Persistence::on);
  CHECK(root.maintenance().stats()->hits == report->hits);
}

TEST_CASE("Only records that this build can read are listed, and marked if they have its own templates") {
  const auto own = subject_of(request_of({a, b}), warmup::Executed{"a device", "580"});
  auto other = own;
  other.templates = std::string(64, '0');
  const std::vector<cache::Key> keys{test::key_of(0), test::key_of(1)};
  const auto records = warmup::read_records({{warmup::to_json(other), keys, 30},
                                             {R"({"arch":"sm_90a"})", keys, 20},
                                             {"no JSON", keys, 15},
                                             {warmup::to_json(own), {test::key_of(0)}, 10}},
                                            {entry_of(0, "NVRTC 13.0.88"), entry_of(2, "NVRTC 13.5.37")});
  REQUIRE(records.size() == 2);
  CHECK((records[0].subject == other));
  CHECK_FALSE(records[0].current);
  CHECK(records[0].kernels == 2);
  CHECK((records[0].compilers == jit::CompilerCounts{{"NVRTC 13.0.88", 1}}));
  CHECK(records[0].recorded == 30);
  CHECK((records[1].subject == own));
  CHECK(records[1].current);
  CHECK(records[1].kernels == 1);
  CHECK(records[1].recorded == 10);
}

TEST_CASE("A removed, damaged or missing entry ends the coverage, and the next warmup restores it") {
  Warmed root;
  const PlanRequest request = request_of({a, c});
  const auto keys = root.keys(request);
  REQUIRE(root.warm_and_record(request));
  const auto spoils = std::vector<std::function<void(const cache::Key&)>>{
      [&](const cache::Key& key) { REQUIRE(root.maintenance().remove(key)); },
      [&](const cache::Key& key) { test::write_file(root.layout.object(key), "damaged"); },
      [&](const cache::Key& key) { fs::resize_file(root.layout.object(key), 100); },
      [&](const cache::Key& key) {
        std::string bytes = test::contents(root.layout.object(key));
        bytes[5] ^= 1;
        test::write_file(root.layout.object(key), bytes);
      },
      [&](const cache::Key& key) { fs::remove(root.layout.object(key)); },
      [&](const cache::Key& key) {
        fs::copy_file(root.layout.object(key == keys.front() ? keys.back() : keys.front()), root.layout.object(key),
                      fs::copy_options::overwrite_existing);
      }};
  for (std::size_t i = 0; i < spoils.size(); ++i) {
    INFO("way " << i);
    REQUIRE(root.is_covered(request));
    spoils[i](keys[i % keys.size()]);
    CHECK_FALSE(root.is_covered(request));
    CHECK(root.maintenance().coverage()->empty());
    REQUIRE(root.warm_and_record(request));
  }
}

TEST_CASE("A record with a missing entry does not cover a request that does not need that entry either") {
  Warmed root;
  REQUIRE(root.warm_and_record(request_of({a, b})));
  REQUIRE(root.maintenance().remove(root.keys(request_of({b})).front()));
  CHECK_FALSE(root.is_covered(request_of({a})));
  REQUIRE(root.warm_and_record(request_of({a})));
  CHECK(root.compiler.calls > 0);
  CHECK(root.is_covered(request_of({a})));
}

TEST_CASE("A warmup that failed, was stopped or could not store everything records nothing") {
  Warmed root;
  const PlanRequest request = request_of({a});
  const Report good = root.warm(request);
  const auto refuses = [&](const std::function<void(Report&)>& spoil) {
    Report report = good;
    spoil(report);
    CHECK_FALSE(root.record(request, report));
  };
  refuses([](Report& report) { report.failed.emplace_back(); });
  refuses([](Report& report) { report.remaining = {"00"}; });
  refuses([](Report& report) { --report.stored; });
  refuses([](Report& report) { --report.compiled, --report.stored; });
  refuses([](Report& report) { report.persist = cache::Persistence::off; });
  CHECK(root.maintenance().coverage()->empty());
  CHECK(root.record(request, good));
}

TEST_CASE("A complete warmup that cannot be recorded reports the reason, and an incomplete one records nothing") {
  Warmed root;
  const PlanRequest request = request_of({a});
  Report report = root.warm(request);
  fs::rename(root.layout.index(), root.folder / "index");
  fs::create_directories(root.layout.index() / "a folder in its place");
  fs::remove_all(root.layout.quarantine());
  test::write_file(root.layout.quarantine(), "no folder");
  const auto unwritable = root.try_to_record(request, report);
  REQUIRE_FALSE(unwritable);
  CHECK(unwritable.error().message.find(root.layout.index().native()) != std::string::npos);

  fs::remove(root.layout.quarantine());
  auto stack = cache::Cabinet::open_stack({}, false, {root.layout.root});
  root.cabinet = std::move(stack->cabinet);
  report = root.warm(request);
  REQUIRE(report.persist == cache::Persistence::readonly);
  const auto readonly = root.try_to_record(request, report);
  REQUIRE_FALSE(readonly);
  CHECK(readonly.error().code == ErrorCode::cache_unusable);
  CHECK(readonly.error().message.find("is read-only") != std::string::npos);
  report.remaining = {"00"};
  CHECK(root.try_to_record(request, report) == false);
}

TEST_CASE("A record replaces the records that it covers, and no others") {
  Warmed root;
  REQUIRE(root.warm_and_record(request_of({a}, {1, 64})));
  REQUIRE(root.warm_and_record(request_of({c})));
  REQUIRE(root.warm_and_record(request_of({a, b})));
  const auto recorded = root.maintenance().coverage().value();
  CHECK(recorded.size() == 2);
  CHECK(root.is_covered(request_of({a}, {1, 64})));
  CHECK(root.is_covered(request_of({c})));
}

TEST_CASE("A record whose entries lack a kernel of the current plan covers nothing") {
  Warmed root;
  const PlanRequest request = request_of({a});
  root.warm(request);
  auto keys = root.keys(request);
  REQUIRE(keys.size() > 1);
  keys.pop_back();
  REQUIRE(root.maintenance().record_coverage(to_json(subject_of(request)), keys));
  CHECK_FALSE(root.is_covered(request));
}

TEST_CASE("Entries of a layer count for coverage as long as the layer is present") {
  Warmed layer;
  Warmed root;
  const PlanRequest request = request_of({a, b});
  layer.warm(request);
  auto layered =
      cache::Cabinet::open_stack(root.layout.root, true, {layer.layout.root}, {.preference = jit::preference_for(0)});
  REQUIRE(layered);
  REQUIRE(layered->problems.empty());
  root.cabinet = std::move(layered->cabinet);
  const Report report = root.warm(request);
  CHECK(report.compiled == 0);
  REQUIRE(root.record(request, report));
  CHECK(root.is_covered(request));
  fs::remove(layer.layout.object(layer.keys(request).front()));
  CHECK_FALSE(root.is_covered(request));
}

TEST_CASE("A read-only cabinet uses its record, and keeps it even if an entry is missing") {
  Warmed root;
  const PlanRequest request = request_of({a});
  const Plan plan = warmup::make_plan(request).value();
  REQUIRE(root.warm_and_record(request));
  auto stack = cache::Cabinet::open_stack({}, false, {root.layout.root});
  REQUIRE(stack);
  CHECK(warmup::warm_from_coverage(stack->cabinet, plan, subject_of(request))->persist == cache::Persistence::readonly);
  fs::remove(root.layout.object(root.keys(request).front()));
  CHECK_FALSE(find_coverage(stack->cabinet, plan, subject_of(request)));
  CHECK(cache::Maintenance(stack->cabinet).coverage()->size() == 1);
}

TEST_CASE("A rebuilt index covers nothing until the next complete warmup") {
  Warmed root;
  const PlanRequest request = request_of({a});
  REQUIRE(root.warm_and_record(request));
  test::write_file(root.layout.index(), "not a database");
  CHECK_FALSE(root.is_covered(request));
  const Report again = root.warm(request);
  CHECK(again.compiled == 0);
  REQUIRE(root.record(request, again));
  CHECK(root.is_covered(request));
}

TEST_CASE("A root with kernels of an unaccepted compiler is not covered until they are compiled again") {
  Warmed root;
  const PlanRequest request = request_of({a, b});
  const Plan plan = warmup::make_plan(request).value();
  const auto kernels = static_cast<std::int64_t>(plan.kernels.size());
  test::FakeCompiler unaccepted("13.5.37");
  const Report first = warmup::warm(plan, unaccepted, &root.cabinet, 1, {});
  CHECK(first.compiled == kernels);
  CHECK((first.compilers == jit::CompilerCounts{{"NVRTC 13.5.37", kernels}}));
  REQUIRE(root.record(request, first));
  CHECK_FALSE(warmup::warm_from_coverage(root.cabinet, plan, subject_of(request)));
  const Report again = warmup::warm(plan, unaccepted, &root.cabinet, 1, {});
  CHECK(again.hits == kernels);
  CHECK(again.replaced == 0);

  const Report replaced = root.warm(request);
  CHECK(replaced.compiled == kernels);
  CHECK(replaced.replaced == kernels);
  CHECK((replaced.compilers == jit::CompilerCounts{{"NVRTC 13.0.88", kernels}}));
  REQUIRE(root.record(request, replaced));
  const auto found = warmup::warm_from_coverage(root.cabinet, plan, subject_of(request));
  REQUIRE(found);
  CHECK((found->compilers == replaced.compilers));
  CHECK(warmup::warm(plan, unaccepted, &root.cabinet, 1, {}).hits == kernels);
}

TEST_CASE(
    "A record whose subject contains the NVRTC version of an earlier build covers nothing and hides no other record") {
  Warmed root;
  const PlanRequest request = request_of({a});
  const Plan plan = warmup::make_plan(request).value();
  const Report report = root.warm(request);
  std::string earlier = to_json(subject_of(request));
  earlier.insert(earlier.find("\"problems\""), "\"nvrtc\":\"13.0\",");
  REQUIRE(root.maintenance().record_coverage(earlier, root.keys(request)));
  CHECK_FALSE(root.is_covered(request));
  CHECK(warmup::read_records(root.maintenance().coverage().value(), {}).empty());
  REQUIRE(root.record(request, report));
  CHECK(root.is_covered(request));
}
