// What the host and the GEMM kernels for Hopper (sm_90a) agree on: the tile configuration, the sizes that follow from
// it, the records in shared memory, and the kernel parameters. NVRTC compiles this header into every GEMM kernel and
// the host compiler compiles it into jit/sm90. It is plain C++17 and includes nothing.
#pragma once

#ifdef __CUDACC__  // NVRTC takes a function without an execution space for a host function, and refuses it
#define CUBINET_CONSTEXPR __device__ constexpr
#else
#define CUBINET_CONSTEXPR constexpr
#endif

namespace cubinet {
struct bf16;
}

namespace cubinet::sm90 {

using u64 = unsigned long long;

// Everything that shapes a GEMM kernel's code besides N and K. A CTA's tile is some tokens (rows of A) by some columns
// (rows of B, which are columns of D). One of the two lies on the M side of wgmma, 64 for each of the two or three
// consumer warpgroups; the other lies on its N side. Tokens on N is also known as swap-AB.
struct TileConfig {
  int block_tokens = 0;           // most tokens of a tile, at most 256; with tokens on M 128 or 192
  int token_step = 0;             // the token count that is computed is a multiple of this
  int block_columns = 0;          // columns of a CTA's tile: 128
  int stages = 0;                 // depth of the operand pipeline, in K blocks of 128 bytes
  int cluster = 1;                // CTAs that share a tile's tokens by TMA multicast: 1 or 2
  int raster_band = 0;            // order of tiles: 0 token tiles first; else bands of this many column tiles
  bool largest_first = false;     // schedule tiles with many tokens first
  bool prefetch_weights = false;  // prefetch the CTA's first weight tile into the L2 at the start
  bool tokens_on_m = false;       // tokens on the M side of wgmma, else weights
  bool scaled = false;            // operands have scales; follows from the family
};

// --- Threads and tiles -----------------------------------------------------------------------------------------------

constexpr int kWarpgroup = 128;      // threads
constexpr int kWarpgroupRows = 64;   // M of one wgmma: rows of the M side per consumer warpgroup
constexpr int kStageRowBytes = 128;  // bytes of K in a row of a pipeline stage: the width of the 128-byte swizzle
constexpr int kScaleColumns = 128;   // columns of D, and elements of K, that share a scale
constexpr int kRowBlock = 128;       // aligned rows of the contiguous layout that belong to at most one group

CUBINET_CONSTEXPR int round_up(int value, int step) { return (value + step - 1) / step * step; }

CUBINET_CONSTEXPR int consumer_warpgroups(const TileConfig& config) {
  return (config.tokens_on_m ? config.block_tokens : config.block_columns) / kWarpgroupRows;
}

// Threads of a CTA: the consumer warpgroups, and one warpgroup for the producer and the scheduler.
CUBINET_CONSTEXPR int threads_per_cta(const TileConfig& config) {
  return (consumer_warpgroups(config) + 1) * kWarpgroup;
}

// Tensor maps of the tokens, one for each token count of a tile.
CUBINET_CONSTEXPR int token_boxes(const TileConfig& config) { return config.block_tokens / config.token_step; }
constexpr int kMaxTokenBoxes = 16;  // 256 tokens in steps of 16

// Elements of K in a stage.
CUBINET_CONSTEXPR int stage_depth(int element_bytes) { return kStageRowBytes / element_bytes; }

// --- The epilogue ----------------------------------------------------------------------------------------------------

// Output is staged in chunks of 64 tokens by 64 columns of bf16.
constexpr int kChunkTokens = 64;
constexpr int kChunkColumns = 64;
constexpr int kChunkBytes = kChunkTokens * kChunkColumns * 2;
constexpr int kWarpRows = 16;  // with tokens on M a warp stores its 16 rows alone

// Rows of a box of the output's tensor map; its columns are kChunkColumns.
CUBINET_CONSTEXPR int output_box_rows(const TileConfig& config) {
  return config.tokens_on_m ? kWarpRows : kChunkTokens;
}

// Chunks that a consumer warpgroup's accumulators fill: 64 rows of the M side by all of the N side.
CUBINET_CONSTEXPR int chunks(const TileConfig& config) {
  return round_up(config.tokens_on_m ? config.block_columns : config.block_tokens, 64) / 64;
}

// Chunks that a consumer warpgroup has room for in shared memory.
CUBINET_CONSTEXPR int chunk_buffers(const TileConfig& config) { return config.tokens_on_m ? chunks(config) : 2; }

// --- Records in shared memory ----------------------------------------------------------------------------------------

constexpr int kMaxSegments = 96;  // segments of a window of the schedule
constexpr int kSizeClasses = 16;  // of tiles, in steps of 16 tokens
constexpr int kTileSlots = 4;     // decoded tiles on their way from the scheduler to the other roles

// Consecutive rows of one group, to be cut into token tiles.
struct Segment {
  int first_row;
  int rows;
  int group;
  int has_padding;  // padding rows may lie between valid ones: stores look at m_indices
};

// A tile as the scheduler hands it out. tokens == 0 ends the kernel.
struct Tile {
  int first_row;
  int tokens;  // valid rows
  int column;  // first of this CTA's columns
  int group;
  int has_padding;  // as in Segment
  int unused[3];
};
static_assert(sizeof(Segment) == 16 && sizeof(Tile) == 32, "read and written in words of 16 bytes");

// Whether the last, smaller tiles of a segment are scheduled on their own.
CUBINET_CONSTEXPR bool tails_apart(const TileConfig& config) { return config.tokens_on_m && config.largest_first; }

// What barriers and scheduler keep in shared memory. A piece is a segment, or with tails_apart a part of one.
template <int kStages, int kMaxPieces>
struct ControlBlock {
  u64 stage_full[kStages];
  u64 stage_empty[kStages];
  u64 scales_empty[2];  // of even and odd turns of the stages; used where operands have scales
  u64 tile_full[kTileSlots];
  u64 tile_empty[kTileSlots];
  Tile tiles[kTileSlots];
  Segment segments[kMaxSegments];
  int first_tile[kMaxPieces + 1];  // by position in `order`; the last one counts all tiles
  unsigned char order[kMaxPieces];
  int tile_counts[4 * kSizeClasses];
  int scratch[32];  // row blocks of a later window
};

CUBINET_CONSTEXPR int max_pieces(const TileConfig& config) {
  return tails_apart(config) ? 2 * kMaxSegments : kMaxSegments;
}

CUBINET_CONSTEXPR int control_bytes(const TileConfig& config) {
  const int one_stage = static_cast<int>(tails_apart(config) ? sizeof(ControlBlock<1, 2 * kMaxSegments>)
                                                             : sizeof(ControlBlock<1, kMaxSegments>));
  return one_stage + (config.stages - 1) * 2 * static_cast<int>(sizeof(u64));
}

// --- The map of shared memory: stages, scales, chunks, control block -------------------------------------------------

CUBINET_CONSTEXPR int weight_stage_bytes(const TileConfig& config) { return config.block_columns * kStageRowBytes; }
CUBINET_CONSTEXPR int token_stage_bytes(const TileConfig& config) { return config.block_tokens * kStageRowBytes; }
CUBINET_CONSTEXPR int stage_bytes(const TileConfig& config) {
  return weight_stage_bytes(config) + token_stage_bytes(config);
}

// A stage's token scales, one float each. Their ring is twice as long as that of the stages.
CUBINET_CONSTEXPR int scale_stage_bytes(const TileConfig& config) {
  return config.scaled ? config.block_tokens * 4 : 0;
}

CUBINET_CONSTEXPR int scale_offset(const TileConfig& config) { return config.stages * stage_bytes(config); }
CUBINET_CONSTEXPR int chunk_offset(const TileConfig& config) {
  return round_up(scale_offset(config) + 2 * config.stages * scale_stage_bytes(config), 1024);  // swizzle atoms
}
CUBINET_CONSTEXPR int control_offset(const TileConfig& config) {
  return chunk_offset(config) + consumer_warpgroups(config) * chunk_buffers(config) * kChunkBytes;
}

// Dynamic shared memory that a launch must ask for, in bytes.
CUBINET_CONSTEXPR int dynamic_smem_bytes(const TileConfig& config) {
  return control_offset(config) + control_bytes(config);
}

// --- Kernel parameters -----------------------------------------------------------------------------------------------

// A CUtensorMap: the host encodes it, a kernel hands its address to TMA.
struct alignas(64) TensorMap {
  unsigned char opaque[128];
};

// Row-major matrices in device memory. Boxes are in elements, columns first.
template <int kTokenBoxes>
struct TensorMaps {
  TensorMap weights;              // (groups * N, K), boxes of stage_depth x block_columns
  TensorMap output;               // (rows, N), boxes of kChunkColumns x output_box_rows
  TensorMap tokens[kTokenBoxes];  // (rows, K); i-th: boxes of stage_depth x (i + 1) * token_step / cluster
};

struct Scalars {
  bf16* d;
  const int* grouping;  // contiguous: m_indices; masked: masked_m
  int rows;             // contiguous: M; masked: capacity
  int groups;
  int n;  // read by kernels that have no N or K of their own
  int k;
  int stream_weights;         // load the weights with the evict-first policy
  const float* token_scales;  // column-major: K block c of row r at c * aligned_scale_rows(rows) + r; masked: per group
  const float* weight_scales;  // (groups, ceil(N / 128), K / 128)
};

// The one parameter of every GEMM kernel, passed by value. The scalars follow the last tensor map.
template <int kTokenBoxes>
struct ParameterBlock : TensorMaps<kTokenBoxes>, Scalars {};

CUBINET_CONSTEXPR int scalars_offset(int token_boxes) {
  return (2 + token_boxes) * static_cast<int>(sizeof(TensorMap));
}
static_assert(sizeof(ParameterBlock<1>) == scalars_offset(1) + 64 && sizeof(Scalars) == 56,
              "the host relies on this place");

}  // namespace cubinet::sm90

#undef CUBINET_CONSTEXPR
