// What a campaign did, as the object that `cubinet warmup --json` prints.
#pragma once

#include <string>

#include "warmup/campaign/campaign.hpp"

namespace cubinet::warmup {

// The fields are told in the command's --help. Precondition: the campaign was not refused. Throws std::bad_alloc alone.
std::string campaign_json(const CampaignReport& report);

}  // namespace cubinet::warmup
