// The output of `cubinet warmup` at its end.
#pragma once

#include <string>

#include "warmup/campaign/campaign.hpp"

namespace cubinet::tools {

// The text that is printed without --json.
std::string warmup_text(const warmup::CampaignReport& report);
// Prints failures as text on standard error.
void explain(const warmup::Report& report);
// Prints the other remarks as notes.
void remark(const warmup::CampaignReport& report);

// The text of --help about the JSON of the report and of the progress file.
extern const char* const warmup_fields_help;
extern const char* const progress_fields_help;

// One line about execution, and below each reason a line for each kernel that was not executed.
std::string execution_text(const warmup::ExecutionReport& execution, const warmup::Report& compilation);

// Prints the failures as text on standard error.
void explain_execution(const warmup::ExecutionReport& execution);

// Ends the process if a kernel hangs on the device: anything else would wait for it.
void leave_hung_device(const warmup::ExecutionReport& execution);

}  // namespace cubinet::tools
