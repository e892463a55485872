// All kernel families, by architecture. Code that needs a family gets it from a registry: production code from
// families(), and a test possibly from its own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cubinet/problem.hpp"
#include "jit/families/family.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// The families of one architecture. Borrowed.
struct ArchitectureFamilies {
  std::string architecture;
  std::vector<const GemmFamily*> gemms;  // at most one for each data type and layout
  const Family* quantization = nullptr;  // its kernels are QuantizationKernels; null: the architecture has none
  const Family* verification = nullptr;  // fills operands and checks results of other kernels; null: has none
};

// Immutable, hence thread-safe.
class Registry {
 public:
  explicit Registry(std::vector<ArchitectureFamilies> architectures) : architectures_(std::move(architectures)) {}

  [[nodiscard]] const std::vector<ArchitectureFamilies>& architectures() const noexcept { return architectures_; }

  // Null if there is none.
  [[nodiscard]] const Family* find(std::string_view name, std::string_view architecture) const;
  [[nodiscard]] const Family* quantization(std::string_view architecture) const;
  [[nodiscard]] const Family* verification(std::string_view architecture) const;

  // The kernel of this build for the family, architecture and constants in a record. Constants that the record lacks
  // have their initial values; unknown ones are ignored. nullopt if the text is not a record, or its family or
  // architecture is not registered.
  [[nodiscard]] std::optional<KernelSpec> spec_of(const std::string& record) const;

  // The family for problems of this data type and layout, whatever their sizes. unsupported if there is none.
  [[nodiscard]] Expected<const GemmFamily*> for_problem(const Problem& problem, const Target& target = {}) const;

  // Whether there is a kernel for the problem. unsupported, which names the rule that the problem breaks.
  [[nodiscard]] Expected<void> can_run(const Problem& problem, const Target& target = {}) const;

  // See GemmFamily. Precondition of each: can_run(problem, target).
  [[nodiscard]] std::vector<Selection> selections(const Problem& problem, MRange range,
                                                  const Target& target = {}) const;
  [[nodiscard]] KernelSpec generic(const Problem& problem, const Target& target = {}) const;
  [[nodiscard]] std::vector<KernelSpec> companions(const Problem& problem, const Target& target = {}) const;

  // The kernel that is selected for M, which is at least 1. Precondition: can_run(problem, target).
  [[nodiscard]] KernelSpec select(const Problem& problem, std::int64_t m, const Target& target = {}) const;

 private:
  [[nodiscard]] const ArchitectureFamilies* find_architecture(std::string_view name) const;
  [[nodiscard]] const GemmFamily& family_of(const Problem& problem, const Target& target) const;

  std::vector<ArchitectureFamilies> architectures_;
};

// The families of this build.
const Registry& families();

}  // namespace cubinet::jit
