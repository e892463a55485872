// Cubinet for C++ engines: one call at engine start, then launches.
//
//   const cubinet::Problem problem{.layout = cubinet::Layout::masked, .n = 4096, .k = 7168, .groups = 32};
//   auto engine = cubinet::start(cubinet::ServiceOptions::from_environment(), {{problem, {1, 16384}}});
//   engine.value().gemms[0].launch(cubinet::MaskedArguments{...}, stream);
//
// The library never prints, never ends the process and reads the environment only in
// ServiceOptions::from_environment(). A function that returns a Result or a Status throws nothing; out_of_memory is an
// error like any other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cubinet/error.hpp"
#include "cubinet/export.h"
#include "cubinet/problem.hpp"
#include "cubinet/request.hpp"
#include "cubinet/result.hpp"
#include "cubinet/scales.hpp"

namespace cubinet {

// What happens on a miss: a kernel is needed that neither the cabinet nor a layer holds. A kernel that one of them
// holds is always loaded.
//   compile   Compile it. The caller waits: prepare(), or a launch with an M outside the prepared range.
//   fallback  Do not wait. Another loaded kernel of the problem stands in, or else the generic kernel of its type and
//             layout, which every warmed cabinet holds. A thread compiles the selected kernel, and later launches use
//             it. Results are correct in both cases. If no kernel can stand in, this is `compile`.
//   error     Return not_prepared. The message names the kernel's key and the command that warms it.
enum class MissPolicy : std::uint8_t { compile, fallback, error };

struct CUBINET_API ServiceOptions {
  // The cabinet's root. It is created when it is missing. Empty: no cabinet.
  std::string cache_root;
  // Further roots, or bundles (`cubinet cache export`). They are searched in this order after cache_root, and never
  // written.
  std::vector<std::string> layers;
  // Folders that are searched for libnvrtc before the built-in places, each with its lib64/ and lib/.
  std::vector<std::string> nvrtc_folders;
  int device = 0;  // CUDA device ordinal
  int jobs = 0;    // compilations at once. 0: one per core that this process may use, fewer if memory is short
  MissPolicy miss = MissPolicy::compile;
  // The limits of cache_root. A write that exceeds one evicts the least recently used entries, except those that are
  // pinned or that a running engine has loaded. Empty: "4GiB" and "100000". "none" or "0": no limit. With any other
  // text that is not a size or a number, the default holds and the start's warning says so.
  std::string cache_max_size;
  std::string cache_max_entries;
  // When a kernel is loaded that only a layer holds, copy it into cache_root, so that it outlives the layer.
  bool promote = false;
  // File with an Ed25519 public key (PEM). A bundle among the layers that is not signed with the matching private key
  // is left out, with a warning. Empty: bundles need no signature.
  std::string bundle_key;

  // The options that the environment gives:
  //   cache_root     CUBINET_CACHE_DIR, else XDG_CACHE_HOME/cubinet, else HOME/.cache/cubinet; a relative path in
  //                  XDG_CACHE_HOME or HOME counts as unset
  //   layers         CUBINET_CACHE_PATH, separated by colons; then share/cubinet/kernels of the prefix under which this
  //                  library is installed, if it exists
  //   nvrtc_folders  CUBINET_NVRTC_DIR, CUDA_HOME
  //   others         CUBINET_CACHE_MAX_SIZE, CUBINET_CACHE_MAX_ENTRIES, CUBINET_BUNDLE_KEY, CUBINET_CACHE_PROMOTE ("1")
  static CUBINET_API ServiceOptions from_environment();
};

// Device memory that a caller lends to a launch. It must not overlap the operands. Until the launch has run, nothing
// else may use it, and no launch on another stream may get it.
struct ScaleWorkspace {
  void* data = nullptr;    // 16-byte aligned
  std::int64_t bytes = 0;  // at least scale_workspace_bytes(1, m, K), or (groups, capacity, K)
};

// Operands of one grouped GEMM of the contiguous layout. All pointers are device pointers; a, b and d are 16-byte
// aligned. "Type" is the problem's: bf16, or e4m3 with scales (cubinet/scales.hpp).
struct ContiguousArguments {
  const void* a = nullptr;                  // Type (m, K)
  const void* b = nullptr;                  // Type (groups, N, K)
  void* d = nullptr;                        // bf16 (m, N); padding rows are not written
  const std::int32_t* m_indices = nullptr;  // (m): group of each row, -1 for padding; see Layout::contiguous
  std::int64_t m = 0;                       // 0 launches nothing
  ScaleTensor a_scales{};                   // FP8 only: (m, K / 128), in either layout
  ScaleTensor b_scales{};                   // FP8 only: (groups, scale_blocks(N), K / 128)
  ScaleWorkspace workspace{};               // FP8 with row-major a_scales only
  // The most SMs that the launch may occupy; 0: all of the device. A kernel with clusters of two CTAs occupies two at
  // least.
  int num_sms = 0;
};

// Operands of one grouped GEMM of the masked layout. All pointers as above.
struct MaskedArguments {
  const void* a = nullptr;                 // Type (groups, capacity, K)
  const void* b = nullptr;                 // Type (groups, N, K)
  void* d = nullptr;                       // bf16 (groups, capacity, N); rows >= masked_m[g] are not written
  const std::int32_t* masked_m = nullptr;  // (groups), read on the device
  std::int64_t capacity = 0;               // >= 1; 0 launches nothing
  std::int64_t expected_m = 0;             // selects the kernel, never changes the result; below 1 means 1
  ScaleTensor a_scales{};                  // FP8 only: (groups, capacity, K / 128), in either layout
  ScaleTensor b_scales{};                  // FP8 only: (groups, scale_blocks(N), K / 128)
  ScaleWorkspace workspace{};              // FP8 with row-major a_scales only
  // The most SMs that the launch may occupy; 0: all of the device. A kernel with clusters of two CTAs occupies two at
  // least.
  int num_sms = 0;
};

// A prepared problem on one device: its kernels are loaded. Copies share their state and are cheap. Thread-safe.
// A launch with an M of the prepared range takes no lock, allocates nothing and looks nothing up by string. `stream` is
// a CUstream or cudaStream_t, nullptr for the default stream. A launch is asynchronous, and may be captured into a CUDA
// graph.
class CUBINET_API GroupedGemm {
 public:
  // Errors:
  //   invalid_argument  another layout than the problem's; a pointer that is null or misaligned; a size that is
  //                     negative or gives A 2^31 rows; scales of another shape, stride or type than the problem needs
  //                     (the message names both); a workspace that is needed and missing, too small, or overlaps
  //                     a_scales
  //   unsupported       UE8M0 scales
  //   driver_failed
  // Contiguous layout with m outside the prepared range: a kernel that is not loaded is loaded or compiled first, as
  // the MissPolicy says. Then the errors of prepare() are possible, too, and `capturing`, which is returned before
  // anything is done that would invalidate the capture. Masked layout: expected_m is clamped into the prepared range.
  Status launch(const ContiguousArguments& arguments, void* stream) const;
  Status launch(const MaskedArguments& arguments, void* stream) const;

  [[nodiscard]] const Problem& problem() const noexcept;

  // For debugging: copies the m values at `m_indices` from the device and checks what a launch relies on. Each value is
  // -1 or a group, and within each aligned block of contiguous_alignment() rows all values other than -1 are the same.
  // Waits for the device; must not be called while a stream is captured. Errors: invalid_argument, which names the
  // first bad row; driver_failed.
  Status check_m_indices(const std::int32_t* m_indices, std::int64_t m) const;

 private:
  friend class Service;
  struct State;
  explicit GroupedGemm(std::shared_ptr<const State> state) noexcept;
  std::shared_ptr<const State> state_;
};

// Quantizes BF16 tensors to FP8 on one device. Copies are cheap. Thread-safe. A launch takes no lock, allocates
// nothing, is asynchronous on `stream` and may be captured. In each block of elements that share a scale:
//   scale = max(amax, 1e-10) / 448,  q = e4m3(clamp(x / scale, -448, 448)), rounded to nearest even
// NaN propagates and is ignored in amax. An infinity makes its block NaN when the block is multiplied by its scale. All
// pointers are device pointers; those to BF16 and FP8 are 16-byte aligned. K is a multiple of 128.
class CUBINET_API Quantizer {
 public:
  // x (rows, k) bf16 to q (rows, k), with one scale per row and 128 of K. `scales` tells where they are written, in
  // either layout: rank 2 with shape (rows, k / 128), or rank 3 with shape (groups, rows / groups, k / 128). Padding
  // between the columns of the column-major layout is not written. Errors: invalid_argument, unsupported,
  // driver_failed.
  Status quantize_rows(const void* x, std::int64_t rows, std::int64_t k, void* q, const ScaleTensor& scales,
                       void* stream) const;

  // w (groups, n, k) bf16 to q (groups, n, k), with one scale per 128 x 128 block of (n, k). `scales` is as from
  // weight_scales(). Errors: invalid_argument, unsupported, driver_failed.
  Status quantize_weights(const void* w, std::int64_t groups, std::int64_t n, std::int64_t k, void* q,
                          const ScaleTensor& scales, void* stream) const;

 private:
  friend class Service;
  struct State;
  explicit Quantizer(std::shared_ptr<const State> state) noexcept;
  std::shared_ptr<const State> state_;
};

// What a start or a preparation did, for logs.
struct StartReport {
  std::int64_t loaded = 0;    // kernels of the problems that are on the device now
  std::int64_t missing = 0;   // kernels that neither the cabinet nor a layer held; 0: everything was warm
  std::int64_t compiled = 0;  // of `missing`: compiled before the return; the others are compiled in the background
  // Time to find, compile and load. For start(): the whole call except for getting the device's context.
  double milliseconds = 0;
  // Empty, or: why the cabinet or a layer was not used, why new kernels were not stored, and which kernels were made by
  // a compiler that this build was not tested with, or that the driver does not load.
  std::string warning;
  std::string
      compilers;  // what made the loaded kernels: "NVRTC 13.0.88"; with the number of kernels if there are several
};

// Kernels that are compiled in the background after a miss under MissPolicy::fallback.
struct BackgroundReport {
  std::int64_t pending = 0;
  std::int64_t ready = 0;    // compiled and used by launches
  std::int64_t failed = 0;   // not tried again; their stand-ins are still used
  std::string last_failure;  // why the last one failed; empty if none did
};

struct Started;

// Cabinet, compiler and device of one process. A process may have several services, on one device or on many.
// Thread-safe. Loaded kernels live until the service and every GroupedGemm and Quantizer that it made are destroyed.
class CUBINET_API Service {
 public:
  // Opens the cabinet and the driver, and retains the device's primary context. NVRTC is opened only when something
  // must be compiled. A cabinet that cannot be used is not an error: kernels are then compiled and not stored, and the
  // warning of every report says why. Errors: driver_missing, driver_failed.
  static Result<Service> open(const ServiceOptions& options);
  Service(Service&&) noexcept;
  Service& operator=(Service&&) noexcept;
  ~Service();

  // Loads every kernel that the problem can select for an M of `range`, and its companion kernels. Missing ones are
  // treated as the MissPolicy says. Fails as a whole if one of them cannot be loaded. `report`, if given, is written on
  // success. Errors: unsupported (names the rule that the problem breaks), invalid_argument (an empty range),
  // wrong_device, compiler_missing, compile_failed, out_of_memory, not_prepared, driver_failed.
  Result<GroupedGemm> prepare(const Problem& problem, MRange range, StartReport* report = nullptr);

  // The same for several problems, whose missing kernels are compiled in parallel. One GroupedGemm for each problem, in
  // their order.
  Result<std::vector<GroupedGemm>> prepare(const std::vector<ProblemRange>& problems, StartReport* report = nullptr);

  // The state of the kernels that are compiled in the background. A launch that was captured into a graph keeps the
  // kernel that it had at its capture.
  [[nodiscard]] BackgroundReport background() const;
  // Waits until none is pending, at most `seconds`. false: some still are.
  bool wait_for_background(double seconds) const;

  // Loads the quantization kernel, which every plan of FP8 problems holds. Errors as for prepare().
  Result<Quantizer> prepare_quantizer(StartReport* report = nullptr);

 private:
  friend CUBINET_API Result<Started> start(const ServiceOptions& options, const std::vector<ProblemRange>& problems);
  struct State;
  explicit Service(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

// The problems that a request names.
struct RequestedProblems {
  std::vector<ProblemRange> problems;  // each problem once, with the smallest range that covers every M asked for
  std::vector<std::string> notes;  // for a log: what a user should know about the source of the problems; one line each
  std::string derivation;          // for a log: lines that show how the model's numbers lead to N, K and groups
};

// An engine that has started.
struct Started {
  Service service;
  std::vector<GroupedGemm> gemms;  // one for each problem, in the order of `requested.problems`
  StartReport report;
  RequestedProblems requested;  // notes and derivation are empty if the problems themselves were given
};

// The call for an engine's start: opens the layers and the device, looks up the kernels of the problems, loads those
// that it finds, and treats missing ones as options.miss says. Errors: those of Service::open and Service::prepare.
CUBINET_API Result<Started> start(const ServiceOptions& options, const std::vector<ProblemRange>& problems);

// The same for the problems that a request names, as resolve() returns them.
CUBINET_API Result<Started> start(const ServiceOptions& options, const Request& request);

// Reads the model's file or the recorded problems that the request names, and returns its problems. Needs no device,
// opens no driver and creates no cabinet; of `options` only cache_root is used, and only by `recorded`. Errors:
// invalid_argument and unsupported, which name the field of the request or the file; not_found; io; and for `recorded`
// those of a cabinet that cannot be read.
CUBINET_API Result<RequestedProblems> resolve(const ServiceOptions& options, const Request& request);

}  // namespace cubinet
