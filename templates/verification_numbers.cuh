// The numbers of the verification family: random operands and scales, garbage for padding rows, and conversions that
// are independent of the other templates.
#pragma once

#include "shared/verification.cuh"

namespace cubinet_verification {

__device__ __forceinline__ float to_float(u32 bf16) { return __uint_as_float(bf16 << 16); }

__device__ __forceinline__ bool is_nan(float value) { return !(value == value); }

// Rounds to nearest even, as the kernels under test do. `value` is finite.
__device__ __forceinline__ u32 to_bf16(float value) {
  const u32 bits = __float_as_uint(value);
  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

// The value of an e4m3fn number. Shifted to the exponent of a float, its magnitude is a float (perhaps a subnormal one)
// whose exponent is too small by 127 - 7.
__device__ __forceinline__ float from_e4m3(u32 byte) {
  const u32 magnitude = byte & 0x7fu;
  const float value = __uint_as_float(magnitude << 20) * __uint_as_float((127u + 120u) << 23);
  const u32 bits = magnitude == 0x7fu ? 0x7fc00000u : __float_as_uint(value);
  return __uint_as_float(bits | ((byte & 0x80u) << 24));
}

// Rounds to nearest even. |value| is at most 448.
__device__ __forceinline__ u32 to_e4m3(float value) {
  const u32 sign = (__float_as_uint(value) >> 24) & 0x80u;
  const float magnitude = fabsf(value);
  if (magnitude < 0.015625f) return sign | static_cast<u32>(__float2int_rn(magnitude * 512.0f));  // subnormal
  const u32 bits = __float_as_uint(magnitude);
  return sign | (((bits + 0x7ffffu + ((bits >> 20) & 1u)) >> 20) - (120u << 3));
}

// A hash of a counter (the finalizer of SplitMix64), so that any element can be computed without the others.
__device__ __forceinline__ u64 mix(u64 x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Element `index` of the stream `seed`: the sum of four uniform 16-bit numbers, shifted to mean 0. Sigma is 37837.2 =
// 2 * 65536 / sqrt(12), the largest magnitude 131070.
__device__ __forceinline__ int random_sum(u64 seed, u64 index) {
  const u64 h = mix(mix(seed) + index);
  return static_cast<int>(h & 0xffff) + static_cast<int>((h >> 16) & 0xffff) + static_cast<int>((h >> 32) & 0xffff) +
         static_cast<int>(h >> 48) - 131070;
}

// The element scaled to sigma 1. All is integer arithmetic except one multiplication, so a host computes the same bits.
__device__ __forceinline__ u32 random_bf16(u64 seed, u64 index) {
  return to_bf16(static_cast<float>(random_sum(seed, index)) * (1.0f / 37837.2f));
}

__device__ __forceinline__ u32 random_pair(u64 seed, u64 index) {
  return random_bf16(seed, index) | (random_bf16(seed, index + 1) << 16);
}

// The element scaled to sigma 128. The largest magnitude, 443.4, becomes the largest finite e4m3 number, never NaN.
__device__ __forceinline__ u32 random_e4m3(u64 seed, u64 index) {
  return to_e4m3(static_cast<float>(random_sum(seed, index)) * (128.0f / 37837.2f));
}

__device__ __forceinline__ u32 random_four(u64 seed, u64 index) {
  return random_e4m3(seed, index) | (random_e4m3(seed, index + 1) << 8) | (random_e4m3(seed, index + 2) << 16) |
         (random_e4m3(seed, index + 3) << 24);
}

// Scale `index` of the stream `seed`: any mantissa, and an exponent from -8 to 1. So using the scale of another row or
// block of K by mistake changes the result.
__device__ __forceinline__ float random_scale(u64 seed, u64 index) {
  const u64 h = mix(mix(seed) + index);
  const u32 exponent = 127u - 8u + static_cast<u32>(h >> 32) % 10u;
  return __uint_as_float((exponent << 23) | (static_cast<u32>(h) & 0x7fffffu));
}

// Two bytes of an operand. Harsh garbage is, in turn, as bf16: NaN, infinity and the largest finite number; as e4m3:
// two NaN, negative zero and NaN, two NaN.
__device__ __forceinline__ u16 garbage_pair(Garbage garbage, i64 turn) {
  if (garbage == Garbage::zeros) return 0;
  return static_cast<u16>(turn % 3 == 0 ? 0x7fffu : turn % 3 == 1 ? 0xff80u : 0x7f7fu);
}

__device__ __forceinline__ float garbage_scale(Garbage garbage, i64 turn) {
  if (garbage == Garbage::zeros) return 0.0f;
  return turn % 3 == 0 ? 3e38f : __uint_as_float(turn % 3 == 1 ? 0x7fc00000u : 0xff800000u);
}

__device__ __forceinline__ i64 global_thread() { return static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; }

__device__ __forceinline__ i64 thread_count() { return static_cast<i64>(gridDim.x) * blockDim.x; }

}  // namespace cubinet_verification
