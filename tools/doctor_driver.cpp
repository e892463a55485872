#include "tools/doctor_driver.hpp"

#include <cstdint>

#include <fmt/format.h>

#include "jit/driver_limit.hpp"
#include "util/text.hpp"

namespace cubinet::tools {

Check check_driver(const OpenedDriver& driver, const std::string& compiler) {
  if (!driver) return absent("driver", driver.error(), "not needed for warmup; to run kernels");
  const int version = (*driver)->version();
  const std::string found = fmt::format("CUDA {}, from {}", jit::cuda_version_text(version), (*driver)->path);
  if (jit::loads(version, compiler)) return {"driver", State::ok, found, ""};
  return {"driver", State::failed, fmt::format("{}: too old for kernels of NVRTC {}", found, compiler),
          jit::driver_limit_mend(version, compiler)};
}

Check check_device(const OpenedDriver& driver, int ordinal) {
  if (!driver) return {"device", State::absent, "not looked for: there is no driver", "", ""};
  const auto context = jit::DeviceContext::retain(*driver, ordinal);
  if (!context) {
    return {"device", State::absent, context.error().message, "no need for warmup; to run kernels, an sm_90a device"};
  }
  const jit::DeviceInfo& info = context->info();
  const std::string found = fmt::format("{}: {}, compute capability {}.{}, {} SMs, {}", info.ordinal, info.name,
                                        info.compute_major, info.compute_minor, info.num_sms,
                                        util::format_byte_size(static_cast<std::int64_t>(info.total_bytes)));
  if (info.compute_major == 9 && info.compute_minor == 0) return {"device", State::ok, found, ""};
  return {"device", State::failed, found, "kernels for sm_90a run on compute capability 9.0 only"};
}

}  // namespace cubinet::tools
