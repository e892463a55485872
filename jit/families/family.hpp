// A kernel family: one template with everything that the host must know about it. The planner, the key, the cabinet
// facts, the engine and the executors use this interface; no other code depends on a family's name.
//
// A new family is a file of this folder that defines one, and its line in registry.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cubinet/problem.hpp"
#include "jit/kernel_spec.hpp"
#include "jit/problems.hpp"
#include "jit/target.hpp"
#include "jit/templates.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

class DeviceContext;
class Kernel;

// A constant of a template. Its value in a record that lacks it is `initial`, whose type is the constant's.
struct Constant {
  const char* name;  // as the template spells it: "kStages"; static storage
  ConstantValue initial;
};

// Immutable, hence thread-safe. Specs and loaded kernels refer to their family, so families live as long as the process
// or, in a test, longer than the specs and kernels made from them.
class Family {
 public:
  virtual ~Family() = default;
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  // Also the name of the template file without its extension, and of the entry point if there is only one.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& architecture() const noexcept { return architecture_; }

  // In the order in which the source declares them; none for a template that is compiled as it is.
  [[nodiscard]] const std::vector<Constant>& constants() const noexcept { return constants_; }

  // The files that contain the template and its includes.
  [[nodiscard]] const std::vector<TemplateFile>& templates() const noexcept { return *templates_; }

  // The kernel with these values, one for each of constants(), in their order and of their types.
  [[nodiscard]] KernelSpec spec(std::vector<ConstantValue> values = {}) const;

  // Dynamic shared memory of a launch, in bytes.
  [[nodiscard]] virtual std::int32_t dynamic_smem_bytes(const KernelSpec&) const { return 0; }

  // How long the kernel takes to compile, relative to others. A warmup begins with the largest.
  [[nodiscard]] virtual std::int64_t compile_weight(const KernelSpec&) const { return 0; }

  // The kernel's entry points; empty if the family does not declare them.
  [[nodiscard]] virtual std::vector<std::string> entry_points() const { return {}; }

  // Loads a cubin of `spec` into the device's memory, ready to be launched. `cubin` is not needed afterwards. Errors:
  // wrong_device, driver_failed.
  [[nodiscard]] virtual Expected<std::shared_ptr<const Kernel>> load(std::shared_ptr<const DeviceContext> device,
                                                                     const KernelSpec& spec,
                                                                     std::string_view cubin) const = 0;

 protected:
  // `templates` outlives the family.
  Family(std::string name, std::string architecture, std::vector<Constant> constants = {},
         const std::vector<TemplateFile>& templates = template_files());

 private:
  // Sets what listings show of the spec's constants: n, k and config.
  virtual void describe_constants(KernelSpec&) const {}

  std::string name_;
  std::string architecture_;
  std::vector<Constant> constants_;
  const std::vector<TemplateFile>* templates_;
};

// A range of M over which one kernel is selected.
struct Selection {
  MRange range;
  KernelSpec spec;
};

// A family that computes the grouped GEMMs of one data type and layout.
class GemmFamily : public Family {
 public:
  [[nodiscard]] DataType data_type() const noexcept { return data_type_; }
  [[nodiscard]] Layout layout() const noexcept { return layout_; }
  [[nodiscard]] const Operands& operands() const { return operands_of(data_type_); }

  // Whether the family computes a problem of its data type and layout. unsupported, which names the rule that the
  // problem breaks.
  [[nodiscard]] virtual Expected<void> can_run(const Problem& problem, const Target& target) const = 0;

  // The kernels for every M of `range`, in ascending order of M; neighbours differ. MRange says what M means for the
  // layout. Preconditions: can_run(problem, target); 1 <= range.first <= range.last.
  [[nodiscard]] virtual std::vector<Selection> selections(const Problem& problem, MRange range,
                                                          const Target& target) const = 0;

  // The kernel that takes N and K as arguments of the launch. It computes every problem of the family, and stands in
  // while the selected kernel is being compiled.
  [[nodiscard]] virtual KernelSpec generic() const = 0;

  // The other kernels that launches of the family's problems need. Plans and engines include them.
  [[nodiscard]] virtual std::vector<KernelSpec> companions() const { return {}; }

 protected:
  GemmFamily(std::string name, std::string architecture, DataType data_type, Layout layout,
             std::vector<Constant> constants, const std::vector<TemplateFile>& templates = template_files())
      : Family(std::move(name), std::move(architecture), std::move(constants), templates),
        data_type_(data_type),
        layout_(layout) {}

 private:
  DataType data_type_;
  Layout layout_;
};

}  // namespace cubinet::jit
