// Which compilers made kernels that may run: those that this build was tested with, and what a driver loads.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cubinet::jit {

// The NVRTC builds whose kernels this build of Cubinet was tested with, the best first: "13.0.88". How they were chosen
// is in bench/results/2026-12-01-cpu/compilers.md.
const std::vector<std::string>& accepted_compilers();

// What an entry's facts say of the compiler that made it: "NVRTC 13.0.88", from Compiler::version(). Empty for an empty
// version.
std::string compiler_name(std::string_view version);

// The place among the accepted compilers of the one that `compiler` names ("NVRTC 13.0.88"), 0 the best; nothing for
// one that is not accepted, or not known.
std::optional<int> accepted_rank(std::string_view compiler);

// A version of CUDA as the driver tells it: cuDriverGetVersion answers 12040 for 12.4.
struct CudaVersion {
  int major = 0;
  int minor = 0;

  friend bool operator==(const CudaVersion&, const CudaVersion&) = default;
};

constexpr CudaVersion cuda_version(int driver_version) { return {driver_version / 1000, driver_version % 1000 / 10}; }

// "12.4".
std::string to_string(CudaVersion version);

// Whether a driver for CUDA `driver` loads a cubin of `compiler` ("NVRTC 13.0.88"). A cubin runs with every driver of
// its CUDA major version and of later ones: NVIDIA, CUDA Compatibility, "Minor Version Compatibility". Without a driver,
// or of a compiler that is not known, nothing speaks against it.
bool can_load(std::string_view compiler, std::optional<CudaVersion> driver);

// How entries of one kernel are ranked (cache::Surroundings::preference) for a driver; without one, where kernels are
// made to be run elsewhere, all can be loaded. Accepted compilers in their order, then all others: an engine takes such
// an entry rather than compile while it serves. Nothing for what the driver cannot load.
std::optional<int> rank(std::string_view compiler, std::optional<CudaVersion> driver);

// The rank of entries that no accepted compiler made.
int unaccepted_rank();

}  // namespace cubinet::jit
