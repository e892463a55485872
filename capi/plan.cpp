// Planning.
#include "warmup/planning/plan_json.hpp"

#include "capi/request.hpp"
#include "capi/support.hpp"

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

}  // namespace
}  // namespace cubinet::capi

cubinet_status cubinet_plan(const cubinet_options* options, const cubinet_request* request, char** json) {
  return cubinet::capi::guarded([&] { return cubinet::capi::plan(options, request, json); });
}
