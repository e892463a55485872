#include "warmup/campaign/observer.hpp"

namespace cubinet::warmup {

void Observer::opened(const Toolchain& /*toolchain*/) {}
void Observer::begin(Phase /*phase*/, std::int64_t /*total*/) {}
void Observer::end(Phase /*phase*/) {}
void Observer::found(std::int64_t /*total*/) {}
void Observer::compiled(const Step& /*step*/) {}
void Observer::executed(const ExecutionStep& /*step*/) {}
std::shared_ptr<void> Observer::compiling(const jit::KernelSpec& /*spec*/) { return nullptr; }
void Observer::waits(std::int64_t /*holder*/) {}

const char* phase_name(Phase phase) { return phase == Phase::compiling ? "compiling" : "executing"; }

}  // namespace cubinet::warmup
