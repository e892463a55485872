// The handles of the C interface, and the report that comes with them.
#pragma once

#include <memory>
#include <vector>

#include "cubinet/cubinet.h"
#include "cubinet/cubinet.hpp"
#include "util/expected.hpp"

struct cubinet_service {
  cubinet::Service service;
};

struct cubinet_gemm {
  cubinet::GroupedGemm gemm;
};

struct cubinet_quantizer {
  cubinet::Quantizer quantizer;
};

namespace cubinet::capi {

using Gemms = std::vector<std::unique_ptr<cubinet_gemm>>;
Gemms handles_of(std::vector<GroupedGemm>&& gemms);

// Writes the handles to `gemms`, which has room for all of them. Nothing may fail after it.
void hand_over(Gemms handles, cubinet_gemm** gemms) noexcept;

// Checks, before any work, that give_report() can write to `report`. NULL is accepted.
Expected<void> check_report(const cubinet_start_report* report);
Expected<void> give_report(const StartReport& report, cubinet_start_report* given);

}  // namespace cubinet::capi
