// cp.async.bulk.tensor and its helpers (TMA). Coordinates are elements, the innermost dimension first.
#pragma once

#include "ptx/types.cuh"

namespace cubinet::ptx {

// Global to this CTA's shared memory; completes `barrier` by bytes.
CUBINET_DEVICE void tma_load(u32 destination, const TensorMap* map, u32 barrier, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
          destination),
      "l"(map), "r"(barrier), "r"(x), "r"(y)
      : "memory");
}

// The same with an L2 eviction policy.
CUBINET_DEVICE void tma_load_hinted(u32 destination, const TensorMap* map, u32 barrier, int x, int y, u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(destination),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "l"(policy)
      : "memory");
}

// Global to the same offset in every CTA of `cta_mask`, completing the barrier at the same offset in each.
CUBINET_DEVICE void tma_load_multicast(u32 destination, const TensorMap* map, u32 barrier, int x, int y, u16 cta_mask) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
      " [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(destination),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "h"(cta_mask)
      : "memory");
}

CUBINET_DEVICE void tma_prefetch_l2(const TensorMap* map, int x, int y) {
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1, %2}];" ::"l"(map), "r"(x), "r"(y) : "memory");
}

CUBINET_DEVICE void tma_store(const TensorMap* map, u32 source, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map), "r"(source),
               "r"(x), "r"(y)
               : "memory");
}

CUBINET_DEVICE void bulk_commit_group() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Until at most kPending of this thread's bulk groups still read shared memory.
template <int kPending>
CUBINET_DEVICE void bulk_wait_group_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

// Until all of this thread's bulk groups are complete.
CUBINET_DEVICE void bulk_wait_group_all() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

// A policy for data that is read once: first to leave the L2.
CUBINET_DEVICE u64 policy_evict_first() {
  u64 policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

// Orders this thread's ordinary writes to shared memory before later accesses by TMA or the tensor core.
CUBINET_DEVICE void fence_proxy_async_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

}  // namespace cubinet::ptx
