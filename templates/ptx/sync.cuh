// Barriers among threads, clusters, register reallocation, and plain shared and global accesses.
#pragma once

#include "ptx/types.cuh"

namespace cubinet::ptx {

// Address in the shared window.
CUBINET_DEVICE u32 shared_address(const void* pointer) { return static_cast<u32>(__cvta_generic_to_shared(pointer)); }

// Named barrier among `threads` threads of the CTA; 0 is __syncthreads's own.
CUBINET_DEVICE void barrier_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

CUBINET_DEVICE void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

CUBINET_DEVICE u32 cluster_cta_rank() {
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// The address, in the cluster's shared window, of the same offset in another of its CTAs.
CUBINET_DEVICE u32 mapa(u32 address, u32 cta_rank) {
  u32 mapped;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(cta_rank));
  return mapped;
}

template <int kRegisters>
CUBINET_DEVICE void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <int kRegisters>
CUBINET_DEVICE void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

CUBINET_DEVICE Int4 load_shared_v4(u32 address) {
  Int4 v;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(address)
               : "memory");
  return v;
}

CUBINET_DEVICE void store_shared_v4(u32 address, Int4 v) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

CUBINET_DEVICE int load_global(const int* pointer) {
  int v;
  asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(v) : "l"(pointer));
  return v;
}

CUBINET_DEVICE void store_global_v4(void* pointer, Int4 v) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(pointer), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

// Two floats rounded to nearest even, `low` in the lower half.
CUBINET_DEVICE u32 pack_bf16x2(float low, float high) {
  u32 packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

// Four transposed 8x8 matrices of 16-bit elements; each lane gives the address of one row.
CUBINET_DEVICE void stmatrix_x4_trans(u32 address, u32 a, u32 b, u32 c, u32 d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(a), "r"(b),
               "r"(c), "r"(d)
               : "memory");
}

}  // namespace cubinet::ptx
