// The specification of a kernel: its source, its canonical record and its key.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "cache/key.hpp"
#include "jit/templates.hpp"

namespace cubinet::jit {

class Family;

// The value of a template's constant. The template declares it as long long, int or bool.
using ConstantValue = std::variant<std::int64_t, std::int32_t, bool>;

// The value as C++ and JSON both write it.
std::string text_of(const ConstantValue& value);

// One specialization of a family's template; Family::spec() makes it. The number of groups and M are arguments of the
// launch and therefore not here. Specs are ordered by family name, constants and architecture.
struct KernelSpec {
  const Family* family = nullptr;        // outlives the spec; null in a spec that is still to be assigned
  std::string architecture;              // the family's: "sm_90a"
  std::vector<ConstantValue> constants;  // one for each of family->constants()

  // What listings show of the constants. Derived from them by the family, and no part of the kernel's identity.
  std::int64_t n = 0;  // 0: N is an argument of the launch, or the kernel has none
  std::int64_t k = 0;  // 0: K is an argument of the launch, or the kernel has none
  std::string config;  // a short name of the other constants, such as "t256x128u64s4c2b8"; empty if there are none

  // The family's name; empty if there is no family.
  [[nodiscard]] const std::string& family_name() const;

  friend bool operator==(const KernelSpec& a, const KernelSpec& b);
  friend std::strong_ordering operator<=>(const KernelSpec& a, const KernelSpec& b);
};

// "bf16_grouped_masked N=4096 K=7168 t128x128u16s6c1b0p", for messages; only the family if it has no constants.
std::string describe(const KernelSpec& spec);

// The name of the family's file among its templates: "bf16_grouped_masked.cuh".
std::string template_name(const KernelSpec& spec);

// The translation unit for NVRTC: the constants, then an include of the family's template.
std::string source_of(const KernelSpec& spec);

// NVRTC options that shape the code, sorted; part of the record.
std::vector<std::string> code_options(const KernelSpec& spec);

// One program for NVRTC, with every header in memory: NVRTC reads no file of the machine.
struct NvrtcInput {
  std::string source;
  std::vector<const TemplateFile*> headers;
  std::vector<std::string> options;
};

// Everything that is given to NVRTC for a specialization and can shape its code. The compilation and the record are
// both made from it. `files`, by default the family's templates, must outlive the result.
NvrtcInput input_of(const KernelSpec& spec);
NvrtcInput input_of(const KernelSpec& spec, const std::vector<TemplateFile>& files);

// The canonical record: a JSON object with sorted keys and no white space.
//   architecture  "sm_90a"
//   constants     every constant of the code, by the name that the templates use; {} if there are none
//   family        the template
//   options       code_options
//   source        SHA-256 of source_of: the constants' types and the way they are written
//   templates     SHA-256 of each template file that the family includes, by name
// It has no path, time, host, user or locale. It does not name the compiler either: a process finds an entry whatever
// compiler made it, and whether or not the process has one. The entry's facts name its compiler; see
// accepted_compilers.hpp.
std::string record_of(const KernelSpec& spec);
std::string record_of(const KernelSpec& spec, const std::vector<TemplateFile>& files);
std::string record_of(const KernelSpec& spec, const NvrtcInput& input);

// SHA-256 over the record.
cache::Key key_of(const std::string& record);
cache::Key key_of(const KernelSpec& spec);

}  // namespace cubinet::jit
