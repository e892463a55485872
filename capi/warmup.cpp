// Plans a request, and warms a cabinet for it.
#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cache/limits.hpp"
#include "capi/request.hpp"
#include "capi/support.hpp"
#include "util/machine.hpp"
#include "warmup/campaign/campaign.hpp"
#include "warmup/campaign/setup.hpp"
#include "warmup/planning/plan_json.hpp"

namespace cubinet::capi {
namespace {

Expected<void> plan(const cubinet_options* options, const cubinet_request* request, char** json) {
  if (auto there = check_given(json, "json"); !there) return there;
  const auto own = options_of(options);
  if (!own) return propagate(own);
  const auto planned = plan_of(request, own->cache_root);
  if (!planned) return propagate(planned);
  const std::string text = warmup::plan_json(planned->request, planned->plan);
  return copy_for_caller(text).map([&](char* copy) { *json = copy; });
}

// Calls the caller's progress function for each kernel. Stops the warmup if the function returns a value other than 0.
class ProgressCaller final : public warmup::Observer {
 public:
  ProgressCaller(cubinet_progress progress, void* user) : progress_(progress), user_(user) {}
  void found(std::int64_t total) override { tell(warmup::Phase::compiling, total, total); }
  void compiled(const warmup::Step& step) override { tell(warmup::Phase::compiling, step.done, step.total); }
  void executed(const warmup::ExecutionStep& step) override { tell(warmup::Phase::executing, step.done, step.total); }
  [[nodiscard]] const std::atomic<bool>& stop_requested() const { return stop_requested_; }

 private:
  void tell(warmup::Phase phase, std::int64_t done, std::int64_t total) {
    if (progress_ == nullptr) return;
    if (progress_(user_, warmup::phase_name(phase), done, total) != 0) stop_requested_.store(true);
  }

  cubinet_progress progress_;
  void* user_;
  std::atomic<bool> stop_requested_{false};
};

// 0: as many as cores and memory allow.
Expected<jit::Jobs> jobs_of(int jobs, const std::vector<util::MemoryRoom>& rooms) {
  constexpr int most = 1024;
  if (jobs == 0) return jit::choose_jobs(util::usable_cores(), rooms);
  if (jobs > 0 && jobs <= most) return jit::Jobs{jobs, jit::JobsReason::given, {}};
  return fail(ErrorCode::invalid_argument, fmt::format("options.jobs: {} is not from 0 to {}", jobs, most));
}

// Refuses fields that only apply with `execute`, if it is 0.
Expected<void> check_executes(const cubinet_warmup_options& given) {
  if (given.execute != 0 || (given.strict == 0 && given.memory_budget == 0)) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("warmup.{} requires warmup.execute", given.strict != 0 ? "strict" : "memory_budget"));
}

Expected<warmup::ExecutionRequest> execution_of(const cubinet_warmup_options& given, int device) {
  if (given.memory_budget < 0) {
    return fail(ErrorCode::invalid_argument, fmt::format("warmup.memory_budget: {} is negative", given.memory_budget));
  }
  if (const auto sound = check_executes(given); !sound) return propagate(sound);
  warmup::ExecutionRequest execution;
  execution.execute = given.execute != 0;
  execution.strict = given.strict != 0;
  execution.device = device;
  if (given.memory_budget > 0) execution.budget = given.memory_budget;
  return execution;
}

// The campaign without its plan.
Expected<warmup::Campaign> campaign_of(const ServiceOptions& options, const cubinet_warmup_options& given) {
  warmup::Campaign campaign;
  campaign.rooms = util::memory_rooms();
  auto jobs = jobs_of(options.jobs, campaign.rooms);
  if (!jobs) return propagate(jobs);
  const auto execution = execution_of(given, options.device);
  if (!execution) return propagate(execution);
  auto root = warmup::cabinet_root(options.cache_root, field_names);
  if (!root) return propagate(root);
  const auto limits = cache::limits_from(options.cache_max_size, options.cache_max_entries);
  if (!limits) return propagate(limits);
  campaign.root = *std::move(root);
  campaign.limits = *limits;
  campaign.nvrtc_folders = options.nvrtc_folders;
  campaign.jobs = *std::move(jobs);
  campaign.execution = *execution;
  campaign.names = field_names;
  return campaign;
}

Expected<cubinet_warmup_options> taken_or_default(const cubinet_warmup_options* given) {
  if (given != nullptr) return taken(given, "warmup");
  return cubinet_warmup_options CUBINET_WARMUP_OPTIONS_INIT;
}

// `shortfall` is set if the warmup ran and a part of its work was not done.
Expected<void> warm(const cubinet_options* options, const cubinet_request* request, const cubinet_warmup_options* given,
                    char** json, std::optional<warmup::Shortfall>& shortfall) {
  const auto own = options_of(options);
  if (!own) return propagate(own);
  const auto wanted = taken_or_default(given);
  if (!wanted) return propagate(wanted);
  auto campaign = campaign_of(*own, *wanted);
  if (!campaign) return propagate(campaign);
  auto planned = plan_of(request, campaign->root);
  if (!planned) return propagate(planned);
  campaign->request = std::move(planned->request.plan);
  campaign->derivation = std::move(planned->request.derivation);
  campaign->notes = std::move(planned->request.notes);
  campaign->plan = std::move(planned->plan);

  ProgressCaller caller(wanted->progress, wanted->user);
  const warmup::CampaignReport report = warmup::run(*campaign, caller, caller.stop_requested());
  if (report.refused) return fail(*report.refused);
  shortfall = warmup::shortfall_of(report);
  if (json == nullptr) return {};
  return copy_for_caller(warmup::campaign_json(report)).map([&](char* copy) { *json = copy; });
}

}  // namespace
}  // namespace cubinet::capi

cubinet_status cubinet_plan(const cubinet_options* options, const cubinet_request* request, char** json) {
  return cubinet::capi::guarded([&] { return cubinet::capi::plan(options, request, json); });
}

cubinet_status cubinet_warmup(const cubinet_options* options, const cubinet_request* request,
                              const cubinet_warmup_options* warmup, char** json) {
  std::optional<cubinet::warmup::Shortfall> shortfall;
  const cubinet_status status =
      cubinet::capi::guarded([&] { return cubinet::capi::warm(options, request, warmup, json, shortfall); });
  if (status != CUBINET_OK || !shortfall) return status;
  return cubinet::capi::failed(CUBINET_INCOMPLETE, std::move(shortfall->message));
}
