// Tests that the key is exact, with tables of changes that must change it and of changes that must not.
#include <algorithm>
#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>
#include <type_traits>

#include "catch.hpp"
#include "jit/families/registry.hpp"
#include "jit/kernel_spec.hpp"
#include "jit/record.hpp"
#include "jit/sm90/grouped_gemm.hpp"

using namespace cubinet;

namespace {

// The inputs of a key.
struct Inputs {
  jit::KernelSpec spec;
  std::vector<jit::TemplateFile> files = jit::template_files();
  std::function<void(jit::NvrtcInput&)> edit = [](jit::NvrtcInput&) {};

  [[nodiscard]] std::string record() const {
    jit::NvrtcInput input = jit::input_of(spec, files);
    edit(input);
    return jit::record_of(spec, input);
  }
};

std::string key_of(const Inputs& inputs) { return jit::key_of(inputs.record()).hex(); }

struct Mutation {
  std::string name;
  std::function<void(Inputs&)> apply;
  std::string field;  // the field of the record that changes
};

constexpr jit::sm90::TileConfig kConfig{256, 32, 128, 4, 2, 8, true, false, false, false};

jit::KernelSpec some_spec(DataType type, Layout layout) {
  return jit::sm90::spec_for({type, layout, 4096, 7168, 1}, kConfig);
}

std::vector<Inputs> kernels() {
  std::vector<Inputs> all;
  for (const DataType type : {DataType::bf16, DataType::fp8}) {
    for (const Layout layout : {Layout::contiguous, Layout::masked}) all.push_back({some_spec(type, layout)});
  }
  all.push_back({jit::families().verification("sm_90a")->spec()});
  all.push_back({jit::families().quantization("sm_90a")->spec()});
  return all;
}

void change_text(jit::TemplateFile& file) {
  static std::set<std::string> texts;  // a template's text is borrowed
  file = jit::make_template_file(file.name, *texts.insert(std::string(file.text) + ' ').first);
}

// A change of each constant.
std::vector<Mutation> of_constants(const jit::KernelSpec& spec) {
  std::vector<Mutation> table;
  for (std::size_t i = 0; i < spec.constants.size(); ++i) {
    const std::string name = spec.family->constants()[i].name;
    const auto change = [i](Inputs& in) {
      std::visit([](auto& value) { value = static_cast<std::remove_reference_t<decltype(value)>>(value == 0); },
                 in.spec.constants[i]);
    };
    table.push_back({name, change, "constants." + name});
  }
  return table;
}

// Changes that affect the code of `kernel`, one for each input.
std::vector<Mutation> that_change(const Inputs& kernel) {
  std::vector<Mutation> table = of_constants(kernel.spec);
  table.push_back({"architecture", [](Inputs& in) { in.spec.architecture = "sm_100a"; }, "architecture"});
  const auto edit = [&](const std::string& name, const std::string& field, std::function<void(jit::NvrtcInput&)> how) {
    table.push_back({name, [how](Inputs& in) { in.edit = how; }, field});
  };
  edit("a byte of the source", "source", [](jit::NvrtcInput& input) { input.source.back() = ' '; });
  edit("one more option", "options", [](jit::NvrtcInput& input) { input.options.emplace_back("--use_fast_math"); });
  const jit::NvrtcInput given = jit::input_of(kernel.spec);
  for (std::size_t i = 0; i < given.options.size(); ++i) {
    edit("without " + given.options[i], "options",
         [i](jit::NvrtcInput& input) { input.options.erase(input.options.begin() + static_cast<std::ptrdiff_t>(i)); });
    edit("another " + given.options[i], "options", [i](jit::NvrtcInput& input) { input.options[i] += '1'; });
  }
  for (const jit::TemplateFile* header : given.headers) {
    const std::string name = header->name;
    const auto change = [name](Inputs& in) {
      const auto is_it = [&](const jit::TemplateFile& file) { return file.name == name; };
      change_text(*std::find_if(in.files.begin(), in.files.end(), is_it));
    };
    table.push_back({"a byte of " + name, change, "templates." + name});
  }
  return table;
}

// Changes that must not change the key.
std::vector<Mutation> that_change_nothing(const Inputs& kernel) {
  std::vector<Mutation> table{
      {"the order of the files", [](Inputs& in) { std::reverse(in.files.begin(), in.files.end()); }, ""},
      {"where a text lies",
       [](Inputs& in) {
         static const std::string copy(in.files.front().text);
         in.files.front() = jit::make_template_file(in.files.front().name, copy);
       },
       ""},
      {"what listings show", [](Inputs& in) { in.spec.config = "another"; }, ""},
      {"HOME", [](Inputs&) { setenv("HOME", "/somewhere/else", 1); }, ""},
      {"the zone", [](Inputs&) { setenv("TZ", "Asia/Kathmandu", 1); }, ""},
      {"the locale", [](Inputs&) { std::setlocale(LC_ALL, "C.UTF-8"); }, ""},
      {"the folder", [](Inputs&) { std::filesystem::current_path("/"); }, ""},
      {"a switch of the driver", [](Inputs&) { setenv("CUDA_LAUNCH_BLOCKING", "1", 1); }, ""},
  };
  const auto included = jit::input_of(kernel.spec).headers;
  for (const jit::TemplateFile& file : jit::template_files()) {
    const auto is_it = [&](const jit::TemplateFile* one) { return one->name == file.name; };
    if (std::any_of(included.begin(), included.end(), is_it)) continue;
    table.push_back({"a byte of " + file.name + ", which is not included",
                     [name = file.name](Inputs& in) {
                       for (jit::TemplateFile& one : in.files) {
                         if (one.name == name) change_text(one);
                       }
                     },
                     ""});
  }
  return table;
}

// Saves the folder, the locale and the environment variables that the tests change, and restores them at its end.
class ProcessState {
 public:
  ProcessState() : folder_(std::filesystem::current_path()), home_(text("HOME")), zone_(text("TZ")) {}
  ~ProcessState() {
    std::filesystem::current_path(folder_);
    std::setlocale(LC_ALL, "C");
    unsetenv("CUDA_LAUNCH_BLOCKING");
    put("HOME", home_);
    put("TZ", zone_);
  }
  ProcessState(const ProcessState&) = delete;
  ProcessState& operator=(const ProcessState&) = delete;

 private:
  static std::string text(const char* name) { return std::getenv(name) == nullptr ? "" : std::getenv(name); }
  static void put(const char* name, const std::string& value) {
    if (value.empty()) {
      unsetenv(name);
    } else {
      setenv(name, value.c_str(), 1);
    }
  }
  std::filesystem::path folder_;
  std::string home_;
  std::string zone_;
};

}  // namespace

TEST_CASE("Each input that shapes the code changes the key and its own field of the record") {
  for (const Inputs& kernel : kernels()) {
    const std::string before = kernel.record();
    std::set<std::string> keys{key_of(kernel)};
    const auto table = that_change(kernel);
    for (const Mutation& mutation : table) {
      Inputs changed = kernel;
      mutation.apply(changed);
      INFO(kernel.spec.family_name() << ": " << mutation.name);
      CHECK(keys.insert(key_of(changed)).second);
      const auto found = jit::differences(before, changed.record());
      CHECK(std::any_of(found.begin(), found.end(), [&](const auto& one) { return one.field == mutation.field; }));
    }
    CHECK(keys.size() == table.size() + 1);
  }
}

TEST_CASE("Different families have different keys") {
  std::set<std::string> keys;
  for (const Inputs& kernel : kernels()) keys.insert(key_of(kernel));
  CHECK(keys.size() == kernels().size());
}

TEST_CASE("The table of inputs to the key covers every field of the record") {
  for (const Inputs& kernel : kernels()) {
    std::set<std::string> reached{"family"};  // covered by the test above
    for (const Mutation& mutation : that_change(kernel)) reached.insert(mutation.field);
    std::set<std::string> fields;
    for (const auto& difference : jit::differences(kernel.record(), "{}")) fields.insert(difference.field);
    CHECK(fields == reached);
  }
}

TEST_CASE("The table covers every member of the structs that describe a kernel and its compilation") {
  // A new member makes these lines fail to compile: add a row for it above, then a name here.
  const jit::KernelSpec spec = kernels().front().spec;
  const auto& [family, architecture, constants, n, k, config] = spec;
  const jit::NvrtcInput input = jit::input_of(kernels().front().spec);
  const auto& [source, headers, options] = input;
  CHECK(constants.size() == family->constants().size());
  CHECK(source.size() + config.size() > 0);
}

TEST_CASE("A GEMM's constants are N, K and all members of its configuration that the family does not imply") {
  // A new member makes this line fail to compile: make it a constant of the family, then add a name here.
  const auto& [tokens, step, columns, stages, cluster, band, first, prefetch, on_m, scaled] = kConfig;
  CHECK(tokens == 256);
  std::set<std::string> names;
  for (const auto& constant : kernels().front().spec.family->constants()) names.insert(constant.name);
  CHECK(names == std::set<std::string>{"kN", "kK", "kBlockTokens", "kTokenStep", "kBlockColumns", "kStages", "kCluster",
                                       "kRasterBand", "kLargestFirst", "kPrefetchWeights", "kTokensOnM"});
}

TEST_CASE("The key does not depend on the machine, the process or the order of inputs") {
  for (const Inputs& kernel : kernels()) {
    const std::string before = key_of(kernel);
    for (const Mutation& mutation : that_change_nothing(kernel)) {
      const ProcessState state;
      Inputs changed = kernel;
      mutation.apply(changed);
      INFO(kernel.spec.family_name() << ": " << mutation.name);
      CHECK(key_of(changed) == before);
    }
  }
}

TEST_CASE("The record contains no path of this machine") {
  for (const Inputs& kernel : kernels()) {
    CHECK(kernel.record().find(std::filesystem::current_path().string()) == std::string::npos);
    CHECK(kernel.record().find("/home") == std::string::npos);
    CHECK(kernel.record().find("/tmp") == std::string::npos);
  }
}
