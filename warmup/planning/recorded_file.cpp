#include "warmup/planning/recorded_problems.hpp"

#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "jit/problems.hpp"
#include "util/files.hpp"
#include "warmup/planning/config_json.hpp"

namespace cubinet::warmup {
namespace {

using Json = nlohmann::json;

// Reads the members of an element, and keeps the first error. An invalid member is read as 0 or as the first name.
class Element {
 public:
  explicit Element(const Json& json) : json_(json) {
    if (!json.is_object()) complain(fmt::format("expected an object, found {}", json.type_name()));
  }

  std::int64_t number(const char* name) { return number_of(member(name), name); }

  // The member as a value of one of the tables of jit/problems.hpp, whose names `named` understands.
  template <class Named, class Table>
  auto named(const char* name, const Named& named, const Table& table) {
    const Json& value = member(name);
    const auto found = named(value.is_string() ? value.get_ref<const std::string&>() : std::string());
    if (!found) complain(fmt::format("{} is neither {} nor {}", name, table.front().name, table.back().name));
    return found;
  }

  MRange range(const char* name) {
    const Json& value = member(name);
    const bool pair = value.is_array() && value.size() == 2;
    if (!pair) complain(fmt::format("{} is not a list of two numbers", name));
    return pair ? MRange{number_of(value[0], name), number_of(value[1], name)} : MRange{};
  }

  std::string text(const char* name) {
    const Json& value = member(name);
    if (!value.is_string()) complain(fmt::format("{} is not a text", name));
    return value.is_string() ? value.get<std::string>() : std::string();
  }

  void complain(const std::string& what) {
    if (complaint_.empty()) complaint_ = what;
  }
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

 private:
  const Json& member(const char* name) {
    static const Json none;
    if (!json_.contains(name)) complain(fmt::format("{} is missing", name));
    return json_.contains(name) ? json_.at(name) : none;
  }

  std::int64_t number_of(const Json& value, const char* name) {
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    const bool too_large = value.is_number_unsigned() && value.get<std::uint64_t>() > most;
    const bool fits = value.is_number_integer() && !too_large;
    if (!fits) complain(fmt::format("{} is not a whole number of 64 bits", name));
    return fits ? value.get<std::int64_t>() : 0;
  }

  const Json& json_;
  std::string complaint_;
};

Expected<RecordedProblem> read_problem(const Json& json) {
  Element element(json);
  RecordedProblem read;
  Problem& problem = read.wanted.problem;
  const auto type = element.named("dtype", jit::data_type_named, jit::data_types());
  const auto layout = element.named("layout", jit::layout_named, jit::layouts());
  problem.data_type = type.value_or(problem.data_type);
  problem.layout = layout.value_or(problem.layout);
  problem.n = element.number("n");
  problem.k = element.number("k");
  const std::int64_t groups = element.number("groups");
  problem.groups = static_cast<std::int32_t>(groups);
  if (problem.groups != groups) element.complain(fmt::format("groups {} are too many", groups));
  read.wanted.range = element.range("m_range");
  read.architecture = element.text("arch");
  read.asked = element.number("asked");
  if (!element.complaint().empty()) return fail(ErrorCode::invalid_argument, element.complaint());
  return check_recorded(read).map([&] { return read; });
}

tl::unexpected<Error> refuse_file(const std::string& file, const std::string& what) {
  return fail(ErrorCode::invalid_argument, fmt::format("{}: {}", file, what));
}

}  // namespace

Expected<RecordedProblems> read_recorded_file(const std::string& file) {
  const auto text = util::read_file(file, max_recorded_file_bytes);
  if (!text) return propagate(text);
  const auto json = parse_config(*text, file, {"version", "problems"});
  if (!json) return propagate(json);
  const auto list = json->find("problems");
  if (list == json->end() || !list->is_array() || !json->contains("version")) {
    return refuse_file(file, "is not a list of problems as printed by `cubinet cache problems --json`");
  }
  if (json->at("version") != recorded_file_version) {
    return refuse_file(file, fmt::format("is of version {}, and this build reads version {}",
                                         json->at("version").dump(), recorded_file_version));
  }
  if (list->size() > cache::max_recorded_problems) {
    return refuse_file(file,
                       fmt::format("holds {} problems, more than {}", list->size(), cache::max_recorded_problems));
  }
  RecordedProblems recorded;
  for (std::size_t i = 0; i < list->size(); ++i) {
    auto problem = read_problem((*list)[i]);
    if (!problem) return refuse_file(file, fmt::format("problems[{}]: {}", i, problem.error().message));
    recorded.problems.push_back(*std::move(problem));
  }
  return recorded;
}

}  // namespace cubinet::warmup
