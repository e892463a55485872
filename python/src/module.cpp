// The module cubinet._binding, which the package's Python files use. The functions that launch are in calls.cpp. The
// functions here are called rarely, and may be slow.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "cubinet/problem.hpp"
#include "python/src/calls.hpp"
#include "python/src/engines.hpp"
#include "python/src/python_api.hpp"
#include "python/src/warmup_thread.hpp"

namespace nb = nanobind;

namespace cubinet::python {
namespace {

using Path = std::optional<nb::bytes>;

// dtype, layout, n, k, groups, m_first, m_last
using ProblemTuple = std::tuple<int, int, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

std::string bytes_of(const nb::bytes& path) { return {path.c_str(), path.size()}; }

std::vector<std::string> bytes_of(const std::vector<nb::bytes>& paths) {
  std::vector<std::string> result;
  for (const nb::bytes& path : paths) result.push_back(bytes_of(path));
  return result;
}

// A text of the library as a str; see decoded().
nb::str text_of(const std::string& text) { return nb::steal<nb::str>(decoded(text.c_str())); }
nb::str text_of(const char* text) { return nb::steal<nb::str>(decoded(text != nullptr ? text : "")); }

std::vector<cubinet_problem> problems_of(const std::vector<ProblemTuple>& tuples) {
  std::vector<cubinet_problem> problems;
  for (const auto& [dtype, layout, n, k, groups, m_first, m_last] : tuples) {
    cubinet_problem problem = CUBINET_PROBLEM_INIT;
    problem.dtype = dtype;
    problem.layout = layout;
    problem.n = n;
    problem.k = k;
    problem.groups = groups;
    problem.m_first = m_first;
    problem.m_last = m_last;
    problems.push_back(problem);
  }
  return problems;
}

// The names of an enumeration's numbers, in their order.
nb::tuple names_of(const char* (*name)(std::int32_t)) {
  nb::list names;
  for (std::int32_t i = 0; name(i) != nullptr; ++i) names.append(name(i));
  return nb::tuple(names);
}

// cubinet_request with what it points to.
class Request {
 public:
  Request() = default;
  Request(Request&&) = default;

  // Sets the field of this name; a value of another type throws nb::cast_error.
  void set(const std::string& field, nb::handle value) {
    if (field == "problems") {
      problems_ = problems_of(nb::cast<std::vector<ProblemTuple>>(value));
      request_.problems = problems_.empty() ? nullptr : problems_.data();
      request_.problem_count = problems_.size();
    } else if (const auto text = texts_by_name.find(field); text != texts_by_name.end()) {
      request_.*text->second = keep(value);
    } else if (const auto number = numbers_by_name.find(field); number != numbers_by_name.end()) {
      request_.*number->second = nb::cast<std::int64_t>(value);
    } else {
      request_.*flags_by_name.at(field) = nb::cast<bool>(value);
    }
  }

  [[nodiscard]] const cubinet_request& c_request() const { return request_; }

  static std::vector<std::string> field_names() {
    std::vector<std::string> names = {"problems"};
    for (const auto& [name, field] : texts_by_name) names.push_back(name);
    for (const auto& [name, field] : numbers_by_name) names.push_back(name);
    for (const auto& [name, field] : flags_by_name) names.push_back(name);
    return names;
  }

 private:
  // Paths come as bytes, texts as str; None is NULL.
  const char* keep(nb::handle value) {
    if (value.is_none()) return nullptr;
    texts_.push_back(nb::isinstance<nb::bytes>(value) ? bytes_of(nb::cast<nb::bytes>(value))
                                                      : nb::cast<std::string>(value));
    return texts_.back().c_str();
  }

  static inline const std::map<std::string, const char* cubinet_request::*> texts_by_name = {
      {"model", &cubinet_request::model},
      {"dtype", &cubinet_request::dtype},
      {"layout", &cubinet_request::layout},
      {"arch", &cubinet_request::arch},
      {"sglang", &cubinet_request::sglang},
      {"vllm", &cubinet_request::vllm},
      {"recorded_from", &cubinet_request::recorded_from}};
  static inline const std::map<std::string, std::int64_t cubinet_request::*> numbers_by_name = {
      {"expert_parallel", &cubinet_request::expert_parallel},
      {"tensor_parallel", &cubinet_request::tensor_parallel},
      {"redundant_experts", &cubinet_request::redundant_experts},
      {"m_first", &cubinet_request::m_first},
      {"m_last", &cubinet_request::m_last}};
  static inline const std::map<std::string, std::int32_t cubinet_request::*> flags_by_name = {
      {"generic_only", &cubinet_request::generic_only},
      {"no_generic", &cubinet_request::no_generic},
      {"recorded", &cubinet_request::recorded}};

  cubinet_request request_ = CUBINET_REQUEST_INIT;
  std::vector<cubinet_problem> problems_;
  std::deque<std::string> texts_;  // which does not move its elements
};

// The keyword arguments are called as the fields of cubinet_request.
Request make_request(const nb::kwargs& fields) {
  Request request;
  for (const auto& [name, value] : fields) request.set(nb::cast<std::string>(name), value);
  return request;
}

EngineOptions make_options(const Path& cache, const std::vector<nb::bytes>& layers,
                           const std::vector<nb::bytes>& nvrtc_folders, int device, int jobs, int miss) {
  EngineOptions options;
  options.has_cache_root = cache.has_value();
  if (cache) options.cache_root = bytes_of(*cache);
  options.layers = bytes_of(layers);
  options.nvrtc_folders = bytes_of(nvrtc_folders);
  options.device = device;
  options.jobs = jobs;
  options.miss = miss;
  return options;
}

nb::str plan(const Request& request, EngineOptions options) {
  const cubinet_options c_options = options.c_options();
  char* json = nullptr;
  cubinet_status status;
  {
    const WithoutGil released;
    status = cubinet_plan(&c_options, &request.c_request(), &json);
  }
  if (status != CUBINET_OK) {
    raise_status(status);
    nb::raise_python_error();
  }
  const std::string text(json);
  cubinet_free(json);
  return text_of(text);
}

// The first exception that Python code raised during a warmup, kept until the warmup has ended.
class Pending {
 public:
  // Takes the exception that is set, and clears it.
  void keep() {
    if (set_) {
      PyErr_Clear();
      return;
    }
    PyErr_Fetch(&type_, &value_, &trace_);
    set_ = true;
  }
  void raise_again() {
    if (!set_) return;
    PyErr_Restore(type_, value_, trace_);
    nb::raise_python_error();
  }

 private:
  PyObject* type_ = nullptr;
  PyObject* value_ = nullptr;
  PyObject* trace_ = nullptr;
  bool set_ = false;
};

// Calls the progress function. Returns whether it raised, and keeps the exception.
bool call_progress(const nb::object& progress, const Step& step, Pending& pending) {
  bool raised = false;
  with_gil([&] {
    const Reference answer(PyObject_CallFunction(progress.ptr(), "sLL", step.phase.c_str(),
                                                 static_cast<long long>(step.done),
                                                 static_cast<long long>(step.total)));
    raised = !answer;
    if (raised) pending.keep();
  });
  return raised;
}

// Runs the handlers of pending signals, which only Python's main thread does. Returns whether one raised, and keeps the
// exception.
bool check_signals(Pending& pending) {
  bool raised = false;
  with_gil([&] {
    raised = PyErr_CheckSignals() != 0;
    if (raised) pending.keep();
  });
  return raised;
}

// Returns the status's name, the error message and the report.
std::tuple<const char*, nb::str, nb::str> warmup(const Request& request, EngineOptions options, bool execute,
                                                 bool strict, std::int64_t memory_budget, const nb::object& progress) {
  const cubinet_options c_options = options.c_options();
  cubinet_warmup_options c_warmup = CUBINET_WARMUP_OPTIONS_INIT;
  c_warmup.execute = execute;
  c_warmup.strict = strict;
  c_warmup.memory_budget = memory_budget;
  Pending pending;
  WarmupResult result;
  {
    const WithoutGil released;
    result = run_warmup(
        c_options, request.c_request(), c_warmup,
        [&](const Step& step) { return !progress.is_none() && call_progress(progress, step, pending); },
        [&] { return check_signals(pending); });
  }
  pending.raise_again();
  if (result.status != CUBINET_OK && result.json.empty()) {
    raise_error(result.status, result.error.c_str(), result.detail.c_str());
    nb::raise_python_error();
  }
  return {cubinet_status_name(result.status), text_of(result.error), text_of(result.json)};
}

// Appends the problems that a request names. False with an exception set.
bool add_requested(const Request& request, EngineOptions& options, std::vector<cubinet_problem>& problems) {
  const cubinet_options c_options = options.c_options();
  cubinet_problem_set set = CUBINET_PROBLEM_SET_INIT;
  cubinet_status status;
  {
    const WithoutGil released;
    status = cubinet_resolve(&c_options, &request.c_request(), &set);
  }
  if (status != CUBINET_OK) return raise_status(status), false;
  problems.insert(problems.end(), set.problems, set.problems + set.count);
  cubinet_problem_set_clear(&set);
  return true;
}

// Returns loaded, missing, compiled, milliseconds, warning and compilers.
std::tuple<std::int64_t, std::int64_t, std::int64_t, double, nb::str, nb::str> start(
    const std::vector<ProblemTuple>& given, const Request* request, EngineOptions options, bool reopen) {
  std::vector<cubinet_problem> problems = problems_of(given);
  if (request != nullptr && !add_requested(*request, options, problems)) nb::raise_python_error();
  cubinet_start_report report = CUBINET_START_REPORT_INIT;
  if (!start_engine(options, reopen, problems, report)) nb::raise_python_error();
  return {report.loaded,       report.missing,          report.compiled,
          report.milliseconds, text_of(report.warning), text_of(report.compilers)};
}

nb::dict cache_stats(EngineOptions options) {
  const cubinet_options c_options = options.c_options();
  cubinet_cache_figures figures{};
  figures.size = sizeof figures;
  cubinet_status status;
  {
    const WithoutGil released;
    status = cubinet_cache_stats(&c_options, &figures);
  }
  if (status != CUBINET_OK) {
    raise_status(status);
    nb::raise_python_error();
  }
  nb::dict result;
  const auto put = [&](const char* name, std::int64_t value) {
    result[name] = value == -1 ? nb::none() : nb::object(nb::int_(value));
  };
  put("entries", figures.entries);
  put("bytes", figures.bytes);
  put("quarantined", figures.quarantined);
  put("hits", figures.hits);
  put("misses", figures.misses);
  put("evicted_misses", figures.evicted_misses);
  put("compiles", figures.compiles);
  put("damage", figures.damage);
  put("evictions", figures.evictions);
  return result;
}

// Returns pending, ready, failed and last_failure.
std::tuple<std::int64_t, std::int64_t, std::int64_t, nb::str> background_report(int device) {
  cubinet_background_report report = CUBINET_BACKGROUND_REPORT_INIT;
  if (!background(device, report)) nb::raise_python_error();
  return {report.pending, report.ready, report.failed, text_of(report.last_failure)};
}

bool wait(int device, double seconds) {
  bool done = false;
  if (!wait_for_background(device, seconds, done)) nb::raise_python_error();
  return done;
}

// For the end of the interpreter: no thread of the library may go on, since it would use libraries that have shut down.
void close() {
  {
    const WithoutGil released;
    end_warmups();
  }
  close_services();
}

// For the child of a fork: its other threads do not exist, and the locks that they held are never released.
void forget() {
  forget_warmups();
  forget_services();
}

}  // namespace

NB_MODULE(_binding, module) {
  nb::set_leak_warnings(false);  // threads may hold objects at the end of the interpreter
  module.doc() = "Cubinet's library for the package cubinet; not for use on its own.";
  nb::class_<Request>(module, "Request");
  nb::class_<EngineOptions>(module, "Options");
  module.def("request", make_request);
  module.def("options", make_options, nb::arg("cache").none(), nb::arg("layers"), nb::arg("nvrtc_folders"),
             nb::arg("device"), nb::arg("jobs"), nb::arg("miss"));
  module.def("plan", plan);
  module.def("warmup", warmup, nb::arg("request"), nb::arg("options"), nb::arg("execute"), nb::arg("strict"),
             nb::arg("memory_budget"), nb::arg("progress").none());
  module.def("start", start, nb::arg("problems"), nb::arg("request").none(), nb::arg("options"), nb::arg("reopen"));
  module.def("cache_stats", cache_stats);
  module.def("background", background_report, nb::arg("device"));
  module.def("wait_for_background", wait, nb::arg("device"), nb::arg("seconds"));
  module.def("close", close);
  module.def("forget", forget);
  module.def("set_num_sms", set_num_sms, nb::arg("num_sms"));
  module.def("alignment", cubinet_contiguous_alignment);
  module.attr("request_fields") = nb::cast(Request::field_names());
  module.attr("dtypes") = names_of(cubinet_dtype_name);
  module.attr("layouts") = names_of(cubinet_layout_name);
  module.attr("largest_m") = largest_m();
  module.attr("version") = cubinet_version();
  if (!add_calls(module.ptr())) nb::raise_python_error();
}

}  // namespace cubinet::python
