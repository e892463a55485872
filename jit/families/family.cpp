#include "jit/families/family.hpp"

#include <stdexcept>
#include <utility>

namespace cubinet::jit {

Family::Family(std::string name, std::string architecture, std::vector<Constant> constants,
               const std::vector<TemplateFile>& templates)
    : name_(std::move(name)),
      architecture_(std::move(architecture)),
      constants_(std::move(constants)),
      templates_(&templates) {}

KernelSpec Family::spec(std::vector<ConstantValue> values) const {
  bool sound = values.size() == constants_.size();
  for (std::size_t i = 0; sound && i < values.size(); ++i) {
    sound = values[i].index() == constants_[i].initial.index();
  }
  if (!sound) throw std::logic_error(name_ + ": values that are not those of its constants");
  KernelSpec spec;
  spec.family = this;
  spec.architecture = architecture_;
  spec.constants = std::move(values);
  describe_constants(spec);
  return spec;
}

}  // namespace cubinet::jit
