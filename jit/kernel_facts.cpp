#include "jit/kernel_facts.hpp"

namespace cubinet::jit {

cache::Details to_details(const KernelFacts& facts) {
  cache::Details details;
  if (!facts.config.empty()) details.set("config", facts.config);
  details.set("family", facts.family);
  details.set("k", facts.k);
  details.set("kernel_names", facts.kernel_names);
  details.set("n", facts.n);
  details.set("registers", std::int64_t{facts.registers});
  details.set("smem_bytes", std::int64_t{facts.smem_bytes});
  details.set("spill_bytes", std::int64_t{facts.spill_bytes});
  return details;
}

KernelFacts kernel_facts(const cache::Facts& facts) {
  const cache::Details& details = facts.details;
  const auto number32 = [&](const char* name) { return static_cast<std::int32_t>(details.number(name)); };
  return {.family = details.text("family"),
          .n = details.number("n"),
          .k = details.number("k"),
          .config = details.text("config"),
          .registers = number32("registers"),
          .spill_bytes = number32("spill_bytes"),
          .smem_bytes = number32("smem_bytes"),
          .kernel_names = details.texts("kernel_names")};
}

}  // namespace cubinet::jit
