/* Cubinet's C interface, for C and for bindings of other languages. It has the engine of cubinet.hpp, plans and
 * warmups.
 *
 *   cubinet_problem problem = CUBINET_PROBLEM_INIT;
 *   problem.layout = CUBINET_MASKED; problem.n = 4096; problem.k = 7168; problem.groups = 32;
 *   cubinet_service* service; cubinet_gemm* gemm;
 *   if (cubinet_start(NULL, &problem, 1, &service, &gemm, NULL)) fprintf(stderr, "%s\n", cubinet_last_error());
 *   cubinet_masked_args args = CUBINET_MASKED_ARGS_INIT;
 *   args.a = a; args.b = b; args.d = d; args.masked_m = masked_m; args.capacity = 512; args.expected_m = 64;
 *   cubinet_launch_bf16_grouped_masked(gemm, &args, stream);
 *
 * Stability. Every struct that a caller passes begins with its size, which its _INIT macro sets. A library that is
 * newer than the caller treats fields that the caller does not know as zero. An older library refuses a struct that has
 * fields unknown to it, unless they are zero. The numbers of an enumeration keep their meaning.
 *
 * Errors. A function that returns a cubinet_status has succeeded if it is CUBINET_OK. Otherwise cubinet_last_error()
 * says why, and the output arguments are unchanged unless stated. No exception leaves the library.
 *
 * Threads. Every function may be called from any thread, at the same time as any other and on the same handles; but a
 * handle must not be used during or after its release. A gemm and a quantizer may be used after the service that made
 * them is closed.
 *
 * Texts are UTF-8 and end with a NUL. Texts and arrays that the caller's structs point to are read during the call
 * only. */
#ifndef CUBINET_CUBINET_H
#define CUBINET_CUBINET_H

#include <stddef.h>
#include <stdint.h>

#include "cubinet/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The result of a call: one of these numbers, or one that a later version adds. */
typedef int32_t cubinet_status;
enum {
  CUBINET_OK = 0,
  CUBINET_INVALID_ARGUMENT = 1, /* the input breaks a rule, which the message names */
  CUBINET_UNSUPPORTED = 2,      /* a valid request that no kernel serves; the message names the rule */
  CUBINET_NOT_FOUND = 3,
  CUBINET_IO = 4,
  CUBINET_CACHE_UNUSABLE = 5,   /* the cabinet's root cannot be used */
  CUBINET_COMPILER_MISSING = 6, /* NVRTC could not be opened */
  CUBINET_COMPILE_FAILED = 7,   /* cubinet_last_error_detail() is NVRTC's log */
  CUBINET_DRIVER_MISSING = 8,   /* no libcuda, or no device */
  CUBINET_WRONG_DEVICE = 9,     /* a kernel is for another architecture, or needs a newer driver */
  CUBINET_DRIVER_FAILED = 10,
  CUBINET_NOT_PREPARED = 11,  /* CUBINET_MISS_ERROR: the message names the key, and the command that warms it */
  CUBINET_CAPTURING = 12,     /* a kernel would have to be loaded or compiled while the stream is captured */
  CUBINET_NO_ROOM = 13,       /* a full or read-only disk, a quota */
  CUBINET_OUT_OF_MEMORY = 14, /* out of memory on the host */
  CUBINET_INCOMPLETE = 15,    /* cubinet_warmup: part of the work was not done; the report says what and why */
  CUBINET_INTERNAL = 16       /* a bug of the library */
};

typedef enum cubinet_dtype { CUBINET_BF16 = 0, CUBINET_FP8 = 1 } cubinet_dtype;            /* problem.hpp: DataType */
typedef enum cubinet_layout { CUBINET_CONTIGUOUS = 0, CUBINET_MASKED = 1 } cubinet_layout; /* problem.hpp: Layout */
typedef enum cubinet_scale_type { CUBINET_SCALE_FP32 = 0, CUBINET_SCALE_UE8M0 = 1 } cubinet_scale_type;

/* What happens when neither the cabinet nor a layer holds a kernel; cubinet.hpp: MissPolicy. */
typedef enum cubinet_miss { CUBINET_MISS_COMPILE = 0, CUBINET_MISS_FALLBACK = 1, CUBINET_MISS_ERROR = 2 } cubinet_miss;

typedef struct cubinet_service cubinet_service;     /* cabinet, compiler and device; cubinet.hpp: Service */
typedef struct cubinet_gemm cubinet_gemm;           /* a prepared problem; cubinet.hpp: GroupedGemm */
typedef struct cubinet_quantizer cubinet_quantizer; /* cubinet.hpp: Quantizer */

/* cubinet.hpp: ServiceOptions, which explains each field. A field is not given if its text is NULL, its list is empty,
 * or promote is 0. Such a field has the environment's value (ServiceOptions::from_environment) if use_environment is
 * set, as by _INIT, and else is empty. */
typedef struct cubinet_options {
  size_t size;
  int32_t use_environment;
  int32_t device; /* CUDA ordinal */
  int32_t jobs;   /* compilations at once; 0: as many as cores and memory allow */
  int32_t miss;   /* cubinet_miss */
  int32_t promote;
  int32_t reserved;          /* 0 */
  const char* cache_root;    /* "": no cabinet */
  const char* const* layers; /* layer_count of them */
  size_t layer_count;
  const char* const* nvrtc_folders; /* nvrtc_folder_count of them */
  size_t nvrtc_folder_count;
  const char* cache_max_size; /* this and the next: an invalid limit is refused */
  const char* cache_max_entries;
  const char* bundle_key;
} cubinet_options;
#define CUBINET_OPTIONS_INIT \
  { sizeof(cubinet_options), 1, 0, 0, 0, 0, 0, NULL, NULL, 0, NULL, 0, NULL, NULL, NULL }

#define CUBINET_LARGEST_M 16777216 /* the largest M of a plan; problem.hpp: largest_m() */

/* A grouped GEMM as one rank sees it, and the range of M for which its kernels are wanted, both ends included. M is the
 * number of rows of A (contiguous), or of rows expected per group (masked). problem.hpp: Problem and MRange. All
 * elements of an array have the size of the first one. */
typedef struct cubinet_problem {
  size_t size;
  int32_t dtype;  /* cubinet_dtype */
  int32_t layout; /* cubinet_layout */
  int64_t n;
  int64_t k;
  int64_t groups;
  int64_t m_first;
  int64_t m_last; /* _INIT: CUBINET_LARGEST_M */
} cubinet_problem;
#define CUBINET_PROBLEM_INIT \
  { sizeof(cubinet_problem), CUBINET_BF16, CUBINET_CONTIGUOUS, 0, 0, 0, 1, CUBINET_LARGEST_M }

/* A tensor of scales in device memory; scales.hpp: ScaleTensor, which describes the layouts. */
typedef struct cubinet_scales {
  const void* data;
  int32_t type; /* cubinet_scale_type */
  int32_t rank; /* 0: no scales */
  int64_t shape[3];
  int64_t strides[3]; /* in elements */
} cubinet_scales;
#define CUBINET_SCALES_INIT                             \
  {                                                     \
    NULL, CUBINET_SCALE_FP32, 0, {0, 0, 0}, { 0, 0, 0 } \
  }

/* cubinet.hpp: ContiguousArguments and MaskedArguments. Pointers are device pointers. */
typedef struct cubinet_contiguous_args {
  size_t size;
  const void* a;            /* (m, K) */
  const void* b;            /* (groups, N, K) */
  void* d;                  /* bf16 (m, N) */
  const int32_t* m_indices; /* (m) */
  int64_t m;
  cubinet_scales a_scales; /* FP8 only */
  cubinet_scales b_scales;
  void* workspace; /* FP8 with row-major a_scales only: cubinet_scale_workspace_bytes() bytes */
  int64_t workspace_bytes;
  int32_t num_sms;  /* the most SMs that the launch may occupy; 0: all of the device; cubinet.hpp */
  int32_t reserved; /* 0 */
} cubinet_contiguous_args;
#define CUBINET_CONTIGUOUS_ARGS_INIT                                                                                  \
  {                                                                                                                   \
    sizeof(cubinet_contiguous_args), NULL, NULL, NULL, NULL, 0, CUBINET_SCALES_INIT, CUBINET_SCALES_INIT, NULL, 0, 0, \
        0                                                                                                             \
  }

typedef struct cubinet_masked_args {
  size_t size;
  const void* a;           /* (groups, capacity, K) */
  const void* b;           /* (groups, N, K) */
  void* d;                 /* bf16 (groups, capacity, N) */
  const int32_t* masked_m; /* (groups) */
  int64_t capacity;
  int64_t expected_m;      /* selects the kernel, never changes the result; below 1 means 1 */
  cubinet_scales a_scales; /* FP8 only */
  cubinet_scales b_scales;
  void* workspace; /* FP8 with row-major a_scales only */
  int64_t workspace_bytes;
  int32_t num_sms;  /* the most SMs that the launch may occupy; 0: all of the device; cubinet.hpp */
  int32_t reserved; /* 0 */
} cubinet_masked_args;
#define CUBINET_MASKED_ARGS_INIT \
  { sizeof(cubinet_masked_args), NULL, NULL, NULL, NULL, 0, 0, CUBINET_SCALES_INIT, CUBINET_SCALES_INIT, NULL, 0, 0, 0 }

/* What a start or a preparation did; cubinet.hpp: StartReport. `warning` and `compilers` are never NULL. They are valid
 * until this thread's next call of a function that returns a status. */
typedef struct cubinet_start_report {
  size_t size;
  int64_t loaded;
  int64_t missing;
  int64_t compiled;
  double milliseconds;
  const char* warning;
  const char* compilers; /* the compilers of the loaded kernels: "NVRTC 13.0.88" */
} cubinet_start_report;
#define CUBINET_START_REPORT_INIT \
  { sizeof(cubinet_start_report), 0, 0, 0, 0.0, NULL, NULL }

/* cubinet.hpp: BackgroundReport. `last_failure` is valid as long as `warning` above. */
typedef struct cubinet_background_report {
  size_t size;
  int64_t pending;
  int64_t ready;
  int64_t failed;
  const char* last_failure;
} cubinet_background_report;
#define CUBINET_BACKGROUND_REPORT_INIT \
  { sizeof(cubinet_background_report), 0, 0, 0, NULL }

/* A request for kernels; request.hpp: Request. It names problems in one of four ways: `model` (or a launch
 * command that names the model), `problems`, `recorded`, or `generic_only`. More than one of them is refused, and so is
 * a field that does not apply to the chosen one. The options of the command `cubinet plan` are the same. */
typedef struct cubinet_request {
  size_t size;
  const char* model;               /* path of a config.json, or of its folder; NULL: no model */
  const cubinet_problem* problems; /* problem_count of them; m_first and m_last below apply, not their own */
  size_t problem_count;
  int64_t expert_parallel; /* with a model: ranks over which its experts are distributed */
  int64_t tensor_parallel; /* with a model: ranks over which each expert's width is split */
  const char* dtype;  /* with a model or generic_only: "bf16", "fp8" or "bf16,fp8"; NULL: as the model's experts are
                         stored, and both for generic_only */
  const char* layout; /* with a model or generic_only: "contiguous", "masked" or "contiguous,masked"; NULL: those that
                         the launch command uses, else both */
  int64_t m_first;
  int64_t m_last;
  const char* arch;          /* NULL: "sm_90a" */
  int32_t generic_only;      /* only the generic kernels (N and K are run-time values) */
  int32_t no_generic;        /* no generic kernels */
  int64_t redundant_experts; /* with a model: additional copies of experts that all ranks hold together */
  /* In place of the three numbers: a server's launch command, at most one. It also gives the model, if `model` is
   * NULL and the command names a folder that exists here. */
  const char* sglang; /* "python -m sglang.launch_server --model-path ... --tp 8 --ep 8"; NULL: none */
  const char* vllm;   /* "vllm serve ... -tp 8 --enable-expert-parallel"; NULL: none */
  /* The problems that engines recorded, each with its own dtype, layout and range of M: in recorded_from, a cabinet's
   * root or a file written by `cubinet cache problems --json`; NULL: in the cabinet of the options. */
  int32_t recorded;
  const char* recorded_from;
} cubinet_request;
#define CUBINET_REQUEST_INIT \
  { sizeof(cubinet_request), NULL, NULL, 0, 1, 1, NULL, NULL, 1, CUBINET_LARGEST_M, NULL, 0, 0, 0, NULL, NULL, 0, NULL }

/* The problems that a request names, and what a start prepared for them. The library fills it in, and the caller
 * passes it to cubinet_problem_set_clear(). problems[i] and gemms[i] belong together. */
typedef struct cubinet_problem_set {
  size_t size;
  size_t problem_size; /* bytes from one element of `problems` to the next: sizeof(cubinet_problem) of the caller */
  size_t count;
  cubinet_problem* problems; /* each problem once, with the smallest range that covers every M asked for */
  cubinet_gemm** gemms;      /* NULL from cubinet_resolve() */
  char* notes;      /* for a log: what a user should know about the source of the problems, lines; "" for nothing */
  char* derivation; /* for a log: how the model's numbers lead to those of the problems, lines; "" without a model */
} cubinet_problem_set;
#define CUBINET_PROBLEM_SET_INIT \
  { sizeof(cubinet_problem_set), sizeof(cubinet_problem), 0, NULL, NULL, NULL, NULL }

/* Progress of a warmup: called after each kernel, by one thread at a time, and never after cubinet_warmup has returned.
 * `phase` is "compiling" or "executing". A result other than 0 stops the warmup: kernels that are being compiled or
 * executed are finished, and no further kernel is started. If a coverage record shows that the cabinet is complete, it
 * is called once, with `done` equal to `total`. */
typedef int (*cubinet_progress)(void* user, const char* phase, int64_t done, int64_t total);

/* strict and memory_budget are refused if execute is 0. */
typedef struct cubinet_warmup_options {
  size_t size;
  int32_t execute; /* run each kernel on the options' device afterwards, and compare its result with a reference */
  int32_t strict;  /* kernels that could not be executed make the warmup incomplete */
  int64_t memory_budget;     /* bytes of device memory; 0: half of the free memory */
  cubinet_progress progress; /* NULL: none */
  void* user;
} cubinet_warmup_options;
#define CUBINET_WARMUP_OPTIONS_INIT \
  { sizeof(cubinet_warmup_options), 0, 0, 0, NULL, NULL }

/* Figures of a cabinet, as `cubinet cache stats` prints them. -1: unknown, because the index could not be read. */
typedef struct cubinet_cache_figures {
  size_t size;
  int64_t entries;
  int64_t bytes;
  int64_t quarantined; /* damaged files in the quarantine folder */
  int64_t hits;        /* look-ups of all processes since the cabinet was created; likewise the others below */
  int64_t misses;
  int64_t evicted_misses; /* misses of evicted entries */
  int64_t compiles;
  int64_t damage;
  int64_t evictions;
} cubinet_cache_figures;
#define CUBINET_CACHE_FIGURES_INIT \
  { sizeof(cubinet_cache_figures), 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* "0.1.0" */
CUBINET_API const char* cubinet_version(void);

/* The error of this thread's last call that failed: one line, and longer text such as a compiler's log. Never NULL; ""
 * if no call failed. Each is valid until this thread's next call of a function that returns a status. */
CUBINET_API const char* cubinet_last_error(void);
CUBINET_API const char* cubinet_last_error_detail(void);

/* "invalid_argument": the name in C++'s ErrorCode, or "ok", "incomplete", "internal"; "unknown" for any other number.
 */
CUBINET_API const char* cubinet_status_name(cubinet_status status);

/* The names of types and layouts in requests, plans and reports: "bf16", "masked". NULL for a number that is not
 * a cubinet_dtype or cubinet_layout; the valid numbers are 0, 1 and so on. */
CUBINET_API const char* cubinet_dtype_name(int32_t dtype);
CUBINET_API const char* cubinet_layout_name(int32_t layout);

/* The plan of a request, as the JSON object that `cubinet plan --json` prints. Needs no device and no NVRTC, and does
 * not depend on them. `options` (NULL: the environment's) are checked; of them only cache_root is used, and only by
 * `recorded`. The caller frees *json with cubinet_free(). */
CUBINET_API cubinet_status cubinet_plan(const cubinet_options* options, const cubinet_request* request, char** json);

/* Does what `cubinet warmup` does: compiles every kernel of the request's plan that the cabinet of `options` (NULL: the
 * environment's) lacks, and executes the kernels if `warmup` says so, for which it needs a device. With CUBINET_OK and
 * CUBINET_INCOMPLETE, *json is the report that the command prints with --json, with the compilers' logs; the caller
 * frees it with cubinet_free(). `warmup` and `json` may be NULL. The process's signals and their handlers do not
 * change. */
CUBINET_API cubinet_status cubinet_warmup(const cubinet_options* options, const cubinet_request* request,
                                          const cubinet_warmup_options* warmup, char** json);

/* Frees a text that this library returned through a char**. NULL is allowed. */
CUBINET_API void cubinet_free(char* text);

/* Opens cabinet and device; cubinet.hpp: Service::open. `options` NULL: the environment's. */
CUBINET_API cubinet_status cubinet_open(const cubinet_options* options, cubinet_service** service);
CUBINET_API void cubinet_close(cubinet_service* service); /* NULL is allowed */

/* The call for an engine's start; cubinet.hpp: start. Writes `count` handles to `gemms`, in the order of the problems.
 * `report` may be NULL. */
CUBINET_API cubinet_status cubinet_start(const cubinet_options* options, const cubinet_problem* problems, size_t count,
                                         cubinet_service** service, cubinet_gemm** gemms, cubinet_start_report* report);

/* The problems of a request, for a start; cubinet.hpp: resolve. Needs no device. request.arch must be known and
 * otherwise does not matter, nor does request.no_generic; request.generic_only is refused: it names no problem. `set`
 * must be empty. If the call fails, it is unchanged. */
CUBINET_API cubinet_status cubinet_resolve(const cubinet_options* options, const cubinet_request* request,
                                           cubinet_problem_set* set);

/* cubinet_start() for the problems of a request, which cubinet_resolve() describes. `set`, which must be empty, takes
 * them with a handle for each. `report` may be NULL. */
CUBINET_API cubinet_status cubinet_start_request(const cubinet_options* options, const cubinet_request* request,
                                                 cubinet_service** service, cubinet_problem_set* set,
                                                 cubinet_start_report* report);

/* Frees the arrays and texts of a set and empties it. The gemms stay valid and belong to the caller, who releases each
 * with cubinet_gemm_release(): copy the handles before this call. NULL is allowed. */
CUBINET_API void cubinet_problem_set_clear(cubinet_problem_set* set);

/* cubinet_start() for a service that is open; cubinet.hpp: Service::prepare. */
CUBINET_API cubinet_status cubinet_prepare(cubinet_service* service, const cubinet_problem* problems, size_t count,
                                           cubinet_gemm** gemms, cubinet_start_report* report);
CUBINET_API void cubinet_gemm_release(cubinet_gemm* gemm); /* NULL is allowed */

/* Launches on `stream`, a CUstream or cudaStream_t, NULL for the default stream; cubinet.hpp: GroupedGemm::launch. A
 * launch is asynchronous. With an M of the prepared range it takes no lock, allocates nothing and may be captured. Also
 * CUBINET_INVALID_ARGUMENT: the gemm has another type or layout than the function. */
CUBINET_API cubinet_status cubinet_launch_bf16_grouped_contiguous(const cubinet_gemm* gemm,
                                                                  const cubinet_contiguous_args* args, void* stream);
CUBINET_API cubinet_status cubinet_launch_bf16_grouped_masked(const cubinet_gemm* gemm, const cubinet_masked_args* args,
                                                              void* stream);
CUBINET_API cubinet_status cubinet_launch_fp8_grouped_contiguous(const cubinet_gemm* gemm,
                                                                 const cubinet_contiguous_args* args, void* stream);
CUBINET_API cubinet_status cubinet_launch_fp8_grouped_masked(const cubinet_gemm* gemm, const cubinet_masked_args* args,
                                                             void* stream);

/* 1 if work that is put on `stream` now would be recorded into a CUDA graph, or if `stream` is the default stream and
 * another stream's capture forbids its use; else 0, also without a driver. While it is 1, no kernel can be loaded:
 * CUBINET_CAPTURING. */
CUBINET_API int32_t cubinet_is_capturing(void* stream);

/* A debugging call that waits for the device; cubinet.hpp: GroupedGemm::check_m_indices. */
CUBINET_API cubinet_status cubinet_check_m_indices(const cubinet_gemm* gemm, const int32_t* m_indices, int64_t m);

/* scales.hpp: scale_workspace_bytes. `groups` is 1 for the contiguous layout. -1: a size is negative, or the number of
 * bytes exceeds 64 bits. */
CUBINET_API int64_t cubinet_scale_workspace_bytes(int64_t groups, int64_t m, int64_t k);
/* In the contiguous layout each group starts at a multiple of this many rows; problem.hpp. */
CUBINET_API int32_t cubinet_contiguous_alignment(void);

/* cubinet.hpp: Service::background and Service::wait_for_background. *done is 0 if some kernels are still pending. */
CUBINET_API cubinet_status cubinet_background(const cubinet_service* service, cubinet_background_report* report);
CUBINET_API cubinet_status cubinet_wait_for_background(const cubinet_service* service, double seconds, int32_t* done);

/* From BF16 to FP8; cubinet.hpp: Quantizer. */
CUBINET_API cubinet_status cubinet_prepare_quantizer(cubinet_service* service, cubinet_quantizer** quantizer);
CUBINET_API void cubinet_quantizer_release(cubinet_quantizer* quantizer); /* NULL is allowed */
CUBINET_API cubinet_status cubinet_quantize_rows(const cubinet_quantizer* quantizer, const void* x, int64_t rows,
                                                 int64_t k, void* q, const cubinet_scales* scales, void* stream);
CUBINET_API cubinet_status cubinet_quantize_weights(const cubinet_quantizer* quantizer, const void* w, int64_t groups,
                                                    int64_t n, int64_t k, void* q, const cubinet_scales* scales,
                                                    void* stream);

/* Figures of the cabinet of `options` (NULL: the environment's). Needs no device. Creates no cabinet: CUBINET_NOT_FOUND
 * if there is none. */
CUBINET_API cubinet_status cubinet_cache_stats(const cubinet_options* options, cubinet_cache_figures* figures);

#ifdef __cplusplus
}
#endif

#endif /* CUBINET_CUBINET_H */
