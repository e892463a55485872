// From BF16 to FP8.
#include <variant>

#include "capi/handles.hpp"
#include "capi/support.hpp"

using namespace cubinet::capi;

cubinet_status cubinet_prepare_quantizer(cubinet_service* service, cubinet_quantizer** quantizer) {
  return guarded([&] {
    return check_given(service, "service")
        .and_then([&] { return check_given(quantizer, "quantizer"); })
        .and_then([&] { return expected(service->service.prepare_quantizer()); })
        .map([&](cubinet::Quantizer&& made) { *quantizer = new cubinet_quantizer{std::move(made)}; });
  });
}

void cubinet_quantizer_release(cubinet_quantizer* quantizer) { delete quantizer; }

cubinet_status cubinet_quantize_rows(const cubinet_quantizer* quantizer, const void* x, int64_t rows, int64_t k,
                                     void* q, const cubinet_scales* scales, void* stream) {
  return guarded([&] {
    return check_given(quantizer, "quantizer")
        .and_then([&] { return check_given(scales, "scales"); })
        .and_then(
            [&] { return expected(quantizer->quantizer.quantize_rows(x, rows, k, q, scales_of(*scales), stream)); })
        .map([](std::monostate) {});
  });
}

cubinet_status cubinet_quantize_weights(const cubinet_quantizer* quantizer, const void* w, int64_t groups, int64_t n,
                                        int64_t k, void* q, const cubinet_scales* scales, void* stream) {
  return guarded([&] {
    return check_given(quantizer, "quantizer")
        .and_then([&] { return check_given(scales, "scales"); })
        .and_then([&] {
          return expected(quantizer->quantizer.quantize_weights(w, groups, n, k, q, scales_of(*scales), stream));
        })
        .map([](std::monostate) {});
  });
}
