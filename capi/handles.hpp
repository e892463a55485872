// What the handles of the C interface are.
#pragma once

#include "cubinet/cubinet.h"
#include "cubinet/cubinet.hpp"

struct cubinet_service {
  cubinet::Service service;
};

struct cubinet_gemm {
  cubinet::GroupedGemm gemm;
};

struct cubinet_quantizer {
  cubinet::Quantizer quantizer;
};
