// A start from a request, in C++ and in C: the request's problems, then the start for these.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "capi/handles.hpp"
#include "capi/request.hpp"
#include "capi/support.hpp"
#include "util/json_text.hpp"

namespace cubinet {
namespace {

// Each problem once, with the smallest range that covers all of its ranges.
std::vector<ProblemRange> distinct(const std::vector<ProblemRange>& problems) {
  std::vector<ProblemRange> result;
  for (const auto& [problem, range] : problems) {
    const auto same = std::find_if(result.begin(), result.end(),
                                   [&wanted = problem](const ProblemRange& one) { return one.problem == wanted; });
    if (same == result.end()) {
      result.push_back({problem, range});
    } else {
      same->range = {std::min(same->range.first, range.first), std::max(same->range.last, range.last)};
    }
  }
  return result;
}

Expected<RequestedProblems> requested(const ServiceOptions& options, const Request& request) {
  if (request.generic_only) {
    return fail(ErrorCode::invalid_argument, "request.generic_only names no problem: it is for a plan and a warmup");
  }
  auto resolved = capi::resolve(request, options.cache_root);
  if (!resolved) return propagate(resolved);
  if (auto sound = warmup::check_request(resolved->plan); !sound) return propagate(sound);
  // They quote keys and values of the model file.
  for (std::string& note : resolved->notes) note = util::one_line(note);
  for (warmup::Derivation& line : resolved->derivation) line.how = util::one_line(line.how);
  return RequestedProblems{distinct(resolved->plan.problems), std::move(resolved->notes),
                           warmup::derivation_text(resolved->derivation)};
}

}  // namespace

Result<RequestedProblems> resolve(const ServiceOptions& options, const Request& request) {
  return without_exceptions(ErrorCode::io, [&]() -> Result<RequestedProblems> {
    auto problems = requested(options, request);
    if (!problems) return std::move(problems).error();
    return *std::move(problems);
  });
}

Result<Started> start(const ServiceOptions& options, const Request& request) {
  return without_exceptions(ErrorCode::io, [&]() -> Result<Started> {
    auto problems = requested(options, request);
    if (!problems) return std::move(problems).error();
    auto started = start(options, problems->problems);
    if (started.ok()) started.value().requested = *std::move(problems);
    return started;
  });
}

namespace capi {
namespace {

// Builds a problem set. The destructor frees it unless hand_over() has passed it to the caller.
class ProblemSet {
 public:
  explicit ProblemSet(const cubinet_problem_set& given) : given_(given) {}
  ProblemSet(const ProblemSet&) = delete;
  ProblemSet& operator=(const ProblemSet&) = delete;
  ~ProblemSet() { cubinet_problem_set_clear(&made_); }

  Expected<void> fill(const RequestedProblems& requested) {
    std::string notes;
    for (const std::string& note : requested.notes) notes += note + "\n";
    return allocate(requested.problems.size(), given_.problem_size, made_.problems)
        .and_then([&] { return copy_for_caller(notes); })
        .map([&](char* text) { made_.notes = text; })
        .and_then([&] { return copy_for_caller(requested.derivation); })
        .map([&](char* text) {
          made_.derivation = text;
          write(requested.problems);
        });
  }

  Expected<void> make_room_for_gemms() { return allocate(made_.count, sizeof(cubinet_gemm*), made_.gemms); }
  [[nodiscard]] cubinet_gemm** gemms() { return made_.gemms; }

  Expected<void> hand_over(cubinet_problem_set* set) {
    made_.problem_size = given_.problem_size;
    return give(set, made_, "set").map([&] { made_ = CUBINET_PROBLEM_SET_INIT; });
  }

 private:
  // Zeroed memory for at least one element.
  template <class Element>
  static Expected<void> allocate(std::size_t count, std::size_t size, Element*& elements) {
    elements = static_cast<Element*>(std::calloc(std::max<std::size_t>(count, 1), size));
    if (elements != nullptr) return {};
    return fail(ErrorCode::out_of_memory, "out of memory");
  }

  // Writes only the fields that the caller's struct has.
  void write(const std::vector<ProblemRange>& problems) {
    auto* bytes = reinterpret_cast<unsigned char*>(made_.problems);
    for (const auto& [problem, range] : problems) {
      const cubinet_problem own{given_.problem_size,
                                static_cast<std::int32_t>(problem.data_type),
                                static_cast<std::int32_t>(problem.layout),
                                problem.n,
                                problem.k,
                                problem.groups,
                                range.first,
                                range.last};
      std::memcpy(bytes + made_.count++ * given_.problem_size, &own, std::min(given_.problem_size, sizeof own));
    }
  }

  const cubinet_problem_set& given_;
  cubinet_problem_set made_ = CUBINET_PROBLEM_SET_INIT;
};

Expected<cubinet_problem_set> taken_set(const cubinet_problem_set* set) {
  auto given = taken(set, "set");
  if (!given) return given;
  constexpr std::size_t most = std::size_t{1} << 16;
  const std::size_t size = given->problem_size;
  if (size >= first_size<cubinet_problem> && size <= most && size % alignof(cubinet_problem) == 0) return given;
  return fail(ErrorCode::invalid_argument,
              fmt::format("set.problem_size is {}; initialize the struct with its _INIT macro", size));
}

Expected<void> resolve_request(const cubinet_options* options, const cubinet_request* request,
                               cubinet_problem_set* set) {
  const auto given = taken_set(set);
  if (!given) return propagate(given);
  const auto own = options_of(options);
  if (!own) return propagate(own);
  const auto wanted = request_of(request);
  if (!wanted) return propagate(wanted);
  const auto problems = requested(*own, *wanted);
  if (!problems) return propagate(problems);
  ProblemSet made(*given);
  return made.fill(*problems).and_then([&] { return made.hand_over(set); });
}

Expected<void> start_request(const cubinet_options* options, const cubinet_request* request, cubinet_service** service,
                             cubinet_problem_set* set, cubinet_start_report* report) {
  if (auto there = check_given(service, "service"); !there) return there;
  const auto given = taken_set(set);
  if (!given) return propagate(given);
  if (auto sound = check_report(report); !sound) return sound;
  const auto own = options_of(options);
  if (!own) return propagate(own);
  const auto wanted = request_of(request);
  if (!wanted) return propagate(wanted);
  auto started = expected(cubinet::start(*own, *wanted));
  if (!started) return propagate(started);
  ProblemSet made(*given);
  auto handle = std::make_unique<cubinet_service>(cubinet_service{std::move(started->service)});
  Gemms gemms = handles_of(std::move(started->gemms));
  return made.fill(started->requested)
      .and_then([&] { return made.make_room_for_gemms(); })
      .and_then([&] { return give_report(started->report, report); })
      .and_then([&] {
        cubinet_gemm** place = made.gemms();
        return made.hand_over(set).map([&] { hand_over(std::move(gemms), place); });
      })
      .map([&] { *service = handle.release(); });
}

}  // namespace
}  // namespace capi
}  // namespace cubinet

using namespace cubinet::capi;

cubinet_status cubinet_resolve(const cubinet_options* options, const cubinet_request* request,
                               cubinet_problem_set* set) {
  return guarded([&] { return resolve_request(options, request, set); });
}

cubinet_status cubinet_start_request(const cubinet_options* options, const cubinet_request* request,
                                     cubinet_service** service, cubinet_problem_set* set,
                                     cubinet_start_report* report) {
  return guarded([&] { return start_request(options, request, service, set, report); });
}

void cubinet_problem_set_clear(cubinet_problem_set* set) {
  if (set == nullptr) return;
  std::free(set->problems);
  std::free(set->gemms);
  std::free(set->notes);
  std::free(set->derivation);
  set->count = 0;
  set->problems = nullptr;
  set->gemms = nullptr;
  set->notes = nullptr;
  set->derivation = nullptr;
}
