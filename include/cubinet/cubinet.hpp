// Cubinet for C++ engines: one call at engine start, then launches.
//
//   const cubinet::Problem problem{.layout = cubinet::Layout::masked, .n = 4096, .k = 7168, .groups = 32};
//   auto engine = cubinet::start(cubinet::ServiceOptions::from_environment(), {{problem, {1, 16384}}});
//   engine.value().gemms[0].launch(cubinet::MaskedArguments{...}, stream);
//
// The library never prints, exits or reads the environment, except in ServiceOptions::from_environment(). What answers
// with a Result or a Status throws nothing: want of memory is out_of_memory.
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

// What happens when a kernel is asked for that no layer of the cabinet holds. A kernel that one holds is loaded in
// every case.
//   compile   it is compiled, and whoever asked waits: prepare(), or a launch for an M outside the prepared range
//   fallback  nobody waits: another kernel of the problem stands in, or else the generic one of its type and layout,
//             which every warmed root holds; the right one is compiled by a thread of its own and taken from then on.
//             Results are right either way. Where nothing can stand in it is as with `compile`
//   error     not_prepared, which names the kernel's key and the command that warms it
enum class MissPolicy : std::uint8_t { compile, fallback, error };

struct CUBINET_API ServiceOptions {
  std::string cache_root;                  // the cabinet's folder; created when missing; empty: no cabinet
  std::vector<std::string> layers;         // further roots, or bundles of entries (`cubinet cache export`), searched
                                           // in this order after cache_root, never written
  std::vector<std::string> nvrtc_folders;  // searched for libnvrtc before the built-in places, with lib64/ and lib/
  int device = 0;                          // CUDA device ordinal
  int jobs = 0;  // compile threads; 0: the cores this process may use, fewer where memory is short, or none
  MissPolicy miss = MissPolicy::compile;
  // How large cache_root may grow: who brings it over a limit evicts what was used least recently, and nothing that is
  // pinned or that a running engine has loaded. Empty: "4GiB" and "100000"; "none" or "0": no limit. A text that is
  // neither is told in the start's warning, and the default holds.
  std::string cache_max_size;
  std::string cache_max_entries;
  // Copy what only a layer holds into cache_root when it is loaded, so that it outlives the layer.
  bool promote = false;
  std::string bundle_key;  // file of an Ed25519 public key (PEM): bundles among the layers that are not signed with its
                           // private part are left out, with a warning; empty: none need be

  // Reads CUBINET_CACHE_DIR, XDG_CACHE_HOME, HOME (in this order for cache_root: the variable itself,
  // XDG_CACHE_HOME/cubinet, HOME/.cache/cubinet; a relative XDG_CACHE_HOME or HOME counts as unset),
  // CUBINET_CACHE_PATH (layers, separated by colons), CUBINET_BUNDLE_KEY (bundle_key), CUBINET_CACHE_MAX_SIZE,
  // CUBINET_CACHE_MAX_ENTRIES, CUBINET_CACHE_PROMOTE ("1": promote), CUBINET_NVRTC_DIR and CUDA_HOME (nvrtc_folders).
  // The last layer is share/cubinet/kernels of the prefix that this library is installed under, if that is there.
  static CUBINET_API ServiceOptions from_environment();
};

// Device memory that a caller lends to a launch, apart from all of its operands. Not to be touched, nor lent to a
// launch on another stream, until the launch has run.
struct ScaleWorkspace {
  void* data = nullptr;    // 16-byte aligned
  std::int64_t bytes = 0;  // at least scale_workspace_bytes(1, m, K), or (groups, capacity, K)
};

// Operands of one contiguous grouped GEMM. All pointers are device pointers; a, b and d 16-byte aligned. Type is that
// of the problem: bf16, or e4m3 with scales (cubinet/scales.hpp).
struct ContiguousArguments {
  const void* a = nullptr;                  // Type (m, K)
  const void* b = nullptr;                  // Type (groups, N, K)
  void* d = nullptr;                        // bf16 (m, N); rows labelled -1 are not written
  const std::int32_t* m_indices = nullptr;  // (m): group of each row, -1 for padding; see Layout::contiguous
  std::int64_t m = 0;                       // 0 launches nothing
  ScaleTensor a_scales{};                   // FP8 only: (m, K / 128), in either layout
  ScaleTensor b_scales{};                   // FP8 only: (groups, scale_blocks(N), K / 128)
  ScaleWorkspace workspace{};               // FP8 with row-major a_scales only
};

// Operands of one masked grouped GEMM, likewise.
struct MaskedArguments {
  const void* a = nullptr;                 // Type (groups, capacity, K)
  const void* b = nullptr;                 // Type (groups, N, K)
  void* d = nullptr;                       // bf16 (groups, capacity, N); rows >= masked_m[g] are not written
  const std::int32_t* masked_m = nullptr;  // (groups), read on the device
  std::int64_t capacity = 0;               // >= 1; 0 launches nothing
  std::int64_t expected_m = 0;             // host hint: tunes, never changes the result; below 1 means 1
  ScaleTensor a_scales{};                  // FP8 only: (groups, capacity, K / 128), in either layout
  ScaleTensor b_scales{};                  // FP8 only: (groups, scale_blocks(N), K / 128)
  ScaleWorkspace workspace{};              // FP8 with row-major a_scales only
};

// A prepared problem on one device: its kernels are loaded. A cheap value (shared state); copies may be used from
// several threads at once. A launch within the prepared range takes no lock, allocates nothing and looks nothing up by
// string. `stream` is a CUstream / cudaStream_t as void*, nullptr for the default stream; the
// launch is asynchronous on it and may be captured into a CUDA graph.
class CUBINET_API GroupedGemm {
 public:
  // Errors: invalid_argument (wrong layout, null or misaligned pointer, a size that is negative or gives A 2^31 rows,
  // scales of another shape, stride or type than the problem's, which are named beside what was expected, a workspace
  // that is needed and missing, too small or over a_scales), unsupported (UE8M0 scales), driver_failed.
  // Contiguous with m outside the prepared range: a kernel that is not loaded yet is loaded first, or made, as the
  // MissPolicy says; the errors are then also not_prepared and those of prepare(), and `capturing`, before anything is
  // done that would spoil the capture. Masked: expected_m is clamped into the range, and never an error.
  Status launch(const ContiguousArguments& arguments, void* stream) const;
  Status launch(const MaskedArguments& arguments, void* stream) const;

  [[nodiscard]] const Problem& problem() const noexcept;

  // Reads the m labels at `m_indices` back from the device and checks what `launch` relies on: every label is -1 or a
  // group, and the labels other than -1 agree within each aligned block of contiguous_alignment() rows. The error names
  // the first bad row. A debugging call: it waits for the device, and must not be made while a stream is captured.
  // Errors: invalid_argument, driver_failed.
  Status check_labels(const std::int32_t* m_indices, std::int64_t m) const;

 private:
  friend class Service;
  struct State;
  explicit GroupedGemm(std::shared_ptr<const State> state) noexcept;
  std::shared_ptr<const State> state_;
};

// Quantises BF16 tensors to FP8 on one device. A cheap value, like GroupedGemm, with the same promises: a launch takes
// no lock, allocates nothing, is asynchronous on `stream` and may be captured.
//   scale = max(amax, 1e-10) / 448,  q = e4m3(clamp(x / scale, -448, 448)), rounded to nearest even
// A NaN stays one and leaves the scale to the others; an infinity makes its block NaN once it is multiplied by its
// scale. All pointers are device pointers, those to BF16 and FP8 16-byte aligned. K is a multiple of 128.
class CUBINET_API Quantizer {
 public:
  // x (rows, k) bf16 to q (rows, k), with a scale per row and 128 of K. `scales` says where and in which of the two
  // layouts they are written: rank 2 with shape (rows, k / 128), or rank 3 with shape (groups, rows / groups, k / 128).
  // Padding between the columns of the column-major layout is not written. Errors: invalid_argument, unsupported,
  // driver_failed.
  Status quantize_rows(const void* x, std::int64_t rows, std::int64_t k, void* q, const ScaleTensor& scales,
                       void* stream) const;

  // w (groups, n, k) bf16 to q (groups, n, k), with a scale per 128 x 128 block of (n, k). `scales` as weight_scales()
  // describes them. Errors: invalid_argument, unsupported, driver_failed.
  Status quantize_weights(const void* w, std::int64_t groups, std::int64_t n, std::int64_t k, void* q,
                          const ScaleTensor& scales, void* stream) const;

 private:
  friend class Service;
  struct State;
  explicit Quantizer(std::shared_ptr<const State> state) noexcept;
  std::shared_ptr<const State> state_;
};

// What prepare() did, for logs.
struct PrepareReport {
  std::int64_t found = 0;     // kernels that the cabinet held, or that this service had loaded before
  std::int64_t compiled = 0;  // kernels compiled now
  double milliseconds = 0;
  std::string warning;  // why the cabinet was not used, or new kernels were not stored; empty otherwise
};

// What a start did, for logs.
struct StartReport {
  std::int64_t loaded = 0;    // kernels on the device now
  std::int64_t missing = 0;   // of all, those that no layer held: the coverage is whole when it is 0
  std::int64_t compiled = 0;  // of `missing`, those that were compiled; the others are being made in the background
  double milliseconds = 0;    // for finding, compiling and loading; of start(), all but the device's context as well
  std::string warning;    // why a layer was not used, or new kernels were not stored; kernels of compilers that this
                          // build was not tested with, or that the driver does not load; empty otherwise
  std::string compilers;  // what made the loaded kernels: "NVRTC 13.0.88", each with its kernels where it is several
};

// Kernels that were missed under MissPolicy::fallback and are made in the background.
struct BackgroundReport {
  std::int64_t pending = 0;
  std::int64_t ready = 0;   // taken by launches from now on
  std::int64_t failed = 0;  // something keeps standing in for them; they are not tried again
  std::string last_failure;
};

struct Started;

// Cabinet, compiler and device of one process; a process may have several, of one device or of many. Thread-safe.
// Loaded kernels live until the service and every GroupedGemm and Quantizer made by it are gone.
class CUBINET_API Service {
 public:
  // Opens the cabinet and the driver, and retains the device's primary context. NVRTC is opened only
  // when something has to be compiled. A cabinet that cannot be used is no error: kernels are then compiled and not
  // stored, and every PrepareReport says why. Errors: driver_missing, driver_failed.
  static Result<Service> open(const ServiceOptions& options);
  Service(Service&&) noexcept;
  Service& operator=(Service&&) noexcept;
  ~Service();

  // Every kernel that the problem can select for an M of `range`, and for FP8 those that bring scales into the other
  // layout: found in the cabinet or made as the MissPolicy says, and loaded. Fails as a whole if one of them cannot be
  // had. `report`, if given, is filled in on success. Errors: unsupported (the problem breaks a rule, which is named),
  // invalid_argument (an empty range), wrong_device, compiler_missing, compile_failed, out_of_memory, not_prepared,
  // driver_failed.
  Result<GroupedGemm> prepare(const Problem& problem, MRange range, PrepareReport* report = nullptr);

  // The same for several problems at once, in their order: what is missing is compiled in parallel.
  Result<std::vector<GroupedGemm>> prepare(const std::vector<ProblemRange>& problems, StartReport* report = nullptr);

  // What the background is at, and a wait for it, at most `seconds`: false when kernels are still being made. A launch
  // that is captured into a graph keeps the kernel it had then.
  [[nodiscard]] BackgroundReport background() const;
  bool wait_for_background(double seconds) const;

  // The quantiser, from the same cabinet: a plan of FP8 problems holds it. Errors as for prepare().
  Result<Quantizer> prepare_quantizer(PrepareReport* report = nullptr);

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
  RequestedProblems requested;  // notes and derivation are empty where the problems were given themselves
};

// The call for an engine's start: opens the layers and the device, looks up the kernels of the problems, loads those
// that it finds, and treats missing ones as options.miss says. Errors: those of Service::open and Service::prepare.
CUBINET_API Result<Started> start(const ServiceOptions& options, const std::vector<ProblemRange>& problems);

// The same for the problems that a request names, as resolve() tells them.
CUBINET_API Result<Started> start(const ServiceOptions& options, const Request& request);

// Reads the model's file or the recorded problems that the request names, and tells its problems. Needs no device,
// opens no driver and makes no cabinet; of `options` only cache_root is used, and only by `recorded`. Errors:
// invalid_argument and unsupported, which name the field of the request or the file; not_found; io; and for `recorded`
// those of a cabinet that cannot be read.
CUBINET_API Result<RequestedProblems> resolve(const ServiceOptions& options, const Request& request);

}  // namespace cubinet
