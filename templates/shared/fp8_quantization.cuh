// What the host and the kernels of fp8_quantization.cuh agree on: threads, how work is divided among CTAs, and the
// parameters. NVRTC and the host compiler both compile this header. It is plain C++17 and includes nothing.
#pragma once

namespace cubinet {
struct bf16;
}

namespace cubinet::fp8_quantization {

constexpr int kThreads = 256;                    // of a CTA, in every kernel
constexpr int kScaleBlock = 128;                 // columns of K, and for weights rows of N, that share a scale
constexpr int kElements = 16;                    // of a thread, in one row: two loads and one store of 16 bytes
constexpr int kLanes = kScaleBlock / kElements;  // threads that hold 128 columns of a row
constexpr int kRowsApart = kThreads / kLanes;    // rows of 128 columns that a CTA holds at a time

// A tile of the transposition: a warp reads 32 scales of a row, and writes 32 rows of a column.
constexpr int kTileRows = 64;
constexpr int kTileBlocks = 32;

// The kernels' parameters; the kernels say what they mean.
using TransposeScales = void(const float* in, float* out, const int* row_counts, long long groups, long long rows,
                             long long blocks);
using QuantizeRows = void(const bf16* x, unsigned char* q, float* scales, long long rows, long long k,
                          long long group_rows, long long group_stride, long long row_stride, long long block_stride);
using QuantizeWeights = void(const bf16* w, unsigned char* q, float* scales, long long groups, long long n,
                             long long k);

}  // namespace cubinet::fp8_quantization
