// A kernel to be made: its source, its canonical record and its key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cache/key.hpp"
#include "cubinet/problem.hpp"
#include "jit/selector.hpp"
#include "jit/templates.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// One template specialization. `groups` and M are run-time values of the kernel and therefore not here.
struct KernelSpec {
  std::string family;  // template file, and entry point where it takes constants: "bf16_grouped_masked"
  std::int64_t n = 0;  // 0: N and K are arguments of the launch, see generic_spec(); 0, and no config, where the family
                       // takes no constants
  std::int64_t k = 0;
  TileConfig config;
  std::string architecture;  // "sm_90a"

  friend auto operator<=>(const KernelSpec&, const KernelSpec&) = default;
};

// "bf16" or "fp8", as families, options and reports name it.
const char* data_type_name(DataType type);

// "contiguous" or "masked", likewise.
const char* layout_name(Layout layout);

// The family that serves a problem.
std::string family_of(const Problem& problem);

KernelSpec spec_for(const Problem& problem, const TileConfig& config, std::string architecture);

// The kernel that takes N and K as arguments: n and k are 0. It computes every problem of its type and layout, and
// stands in while the specialization is being made.
KernelSpec generic_spec(const Problem& problem, std::string architecture);

// An error that lists the supported architectures when `architecture` is not one of them. The list is exact:
// sm_90 is not sm_90a.
Expected<void> check_architecture(const std::string& architecture);

// The kernels that check others (templates/verification.cuh).
KernelSpec verification_spec(std::string architecture);

// The kernels that quantise to FP8 and bring scales into the layout of the GEMM (templates/fp8_quantization.cuh). Every
// FP8 problem needs them.
KernelSpec quantization_spec(std::string architecture);

// Whether the family is specialized by the constants of a GEMM, and has one entry point of its own name. The templates
// of the other families are taken as they are, with every size a run-time value, and hold several entry points.
bool takes_constants(const KernelSpec& spec);

// The configuration's name; empty where there are no constants.
std::string config_name(const KernelSpec& spec);

// "bf16_grouped_masked N=4096 K=7168 t128x128u16s6c1b0p", for people; the family alone where there are no constants.
std::string describe(const KernelSpec& spec);

// The name of the family's file among the templates: "bf16_grouped_masked.cuh".
std::string template_name(const KernelSpec& spec);

// The translation unit handed to NVRTC: the constants, then an include of the family's template.
std::string source_of(const KernelSpec& spec);

// NVRTC options that shape the code, sorted; part of the record.
std::vector<std::string> code_options(const KernelSpec& spec);

// One program given to NVRTC, with every header in memory: no file of the machine is read.
struct NvrtcInput {
  std::string source;
  std::vector<const TemplateFile*> headers;
  std::vector<std::string> options;
};

// All that NVRTC is given of a specialization and that can shape its code. Both the compilation and the record are made
// of it. `files` must outlive the result.
NvrtcInput input_of(const KernelSpec& spec, const std::vector<TemplateFile>& files = template_files());

// The canonical record: a JSON object with sorted keys and no white space.
//   architecture  "sm_90a"
//   constants     every constant of the code, by the name that the templates use; {} where there are none
//   family        the template
//   options       code_options
//   source        SHA-256 of source_of: the constants' types and the way they are written
//   templates     SHA-256 per template file that the family includes, by name
// It has no path, time, host, user or locale, and not the compiler: an entry of any compiler is found, whatever
// compiler the process has, if it has one. Which one made an entry is told in its facts; see accepted_compilers.hpp.
std::string record_of(const KernelSpec& spec, const std::vector<TemplateFile>& files = template_files());
std::string record_of(const KernelSpec& spec, const NvrtcInput& input);

// The kernel that this build makes for the family, architecture and constants that a record names; constants that the
// record lacks have their defaults. Nothing for a text that is no record, or of a family that is not among the
// templates.
std::optional<KernelSpec> spec_of(const std::string& record);

// SHA-256 over the record.
cache::Key key_of(const std::string& record);
cache::Key key_of(const KernelSpec& spec);

}  // namespace cubinet::jit
