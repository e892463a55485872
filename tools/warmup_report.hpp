// What `cubinet warmup` says when it is done.
#pragma once

#include <string>

#include "warmup/campaign/campaign.hpp"

namespace cubinet::tools {

// What is printed where --json is not given.
std::string warmup_text(const warmup::CampaignReport& report);
// The troubles, as text on standard error.
void explain(const warmup::Report& report);
// What else there is to know, as notes.
void remark(const warmup::CampaignReport& report);

// What --help says of the object, and of the progress file's.
extern const char* const warmup_fields_help;
extern const char* const progress_fields_help;

// A line on what was executed, and one for each kernel that was not, below the reason.
std::string execution_text(const warmup::ExecutionReport& execution, const warmup::Report& compilation);

// The failures, as text on standard error.
void explain_execution(const warmup::ExecutionReport& execution);

// Ends the process, where a kernel still runs: everything else would wait for it.
void leave_hung_device(const warmup::ExecutionReport& execution);

}  // namespace cubinet::tools
