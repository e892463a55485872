// Takes the place of the library's engine in a test's process (LD_PRELOAD), so that what the package hands to it can be
// seen on a machine without a GPU: launches are counted and the last one's arguments kept. Also makes tensors that
// PyTorch holds on the host look as if they were on a CUDA device.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>

#include "cubinet/cubinet.h"
#include "python/src/dlpack.hpp"

namespace dlpack = cubinet::python::dlpack;

struct cubinet_service {
  int device;
  int miss;
};
struct cubinet_gemm {
  cubinet_problem problem;
  int miss;  // of its service
};

namespace {

// Read by the tests through ctypes, field by field.
struct Record {
  std::int64_t opens;
  std::int64_t prepared;
  std::int64_t launches;
  std::int64_t family;  // 2 * (fp8) + (masked), of the last launch
  std::int64_t device;  // of the last service that was opened
  std::int64_t miss;
  std::int64_t n, k, groups;
  std::int64_t m_last;
  std::int64_t m;  // or the capacity
  std::int64_t expected_m;
  const void* a;
  const void* b;
  const void* d;
  const void* index;
  void* stream;
  void* workspace;
  std::int64_t workspace_bytes;
  cubinet_scales a_scales;
  cubinet_scales b_scales;
  std::int64_t launch_status;   // what launches are to answer
  std::int64_t prepare_status;  // and preparations
  std::int64_t interrupted;     // an interrupt comes in the middle of a preparation
  std::int64_t capturing;       // whether every stream is reported as captured
  std::int64_t held;            // 1: preparations wait; the first that does makes it 2, and 0 lets them go on
  std::int64_t launched_miss;   // of the service that the last launch's gemm is of
  std::int64_t num_sms;         // of the last launch
  std::int64_t pending;         // kernels that are said to be made in the background, for ever
};
Record record;

// What PyTorch's table says, but for the device.
const dlpack::ExchangeApi* original;
dlpack::ExchangeApi disguised;
std::int32_t disguised_device;

int view_of_object(void* object, dlpack::Tensor* tensor) {
  const int result = original->view_of_object(object, tensor);
  tensor->device = {dlpack::kCuda, disguised_device};
  return result;
}

int current_stream(std::int32_t, std::int32_t device, void** stream) {
  *stream = reinterpret_cast<void*>(std::uintptr_t{0x1000} + static_cast<std::uintptr_t>(device));
  return 0;
}

int allocate(dlpack::Tensor* prototype, dlpack::ManagedTensor** out, void* context,
             void (*set_error)(void*, const char*, const char*)) {
  prototype->device = {dlpack::kCpu, 0};
  return original->allocate(prototype, out, context, set_error);
}

template <typename Arguments>
void note(int family, const cubinet_gemm* gemm, const Arguments* arguments, void* stream) {
  ++record.launches;
  record.family = family;
  record.launched_miss = gemm->miss;
  record.n = gemm->problem.n;
  record.k = gemm->problem.k;
  record.groups = gemm->problem.groups;
  record.a = arguments->a;
  record.b = arguments->b;
  record.d = arguments->d;
  record.num_sms = arguments->num_sms;
  record.stream = stream;
  record.workspace = arguments->workspace;
  record.workspace_bytes = arguments->workspace_bytes;
  record.a_scales = arguments->a_scales;
  record.b_scales = arguments->b_scales;
}

cubinet_status note_contiguous(int family, const cubinet_gemm* gemm, const cubinet_contiguous_args* arguments,
                               void* stream) {
  note(family, gemm, arguments, stream);
  record.m = arguments->m;
  record.index = arguments->m_indices;
  return static_cast<cubinet_status>(record.launch_status);
}

cubinet_status note_masked(int family, const cubinet_gemm* gemm, const cubinet_masked_args* arguments, void* stream) {
  note(family, gemm, arguments, stream);
  record.m = arguments->capacity;
  record.expected_m = arguments->expected_m;
  record.index = arguments->masked_m;
  return static_cast<cubinet_status>(record.launch_status);
}

}  // namespace

extern "C" {

#define SHOWN __attribute__((visibility("default")))

SHOWN Record* fake_engine_record() { return &record; }

SHOWN const void* fake_engine_disguise(const void* api, std::int32_t device) {
  original = static_cast<const dlpack::ExchangeApi*>(api);
  disguised_device = device;
  disguised = *original;
  disguised.header.previous = nullptr;
  disguised.view_of_object = view_of_object;
  disguised.current_stream = current_stream;
  disguised.allocate = allocate;
  return &disguised;
}

SHOWN int32_t cubinet_is_capturing(void*) { return static_cast<int32_t>(record.capturing); }

SHOWN cubinet_status cubinet_open(const cubinet_options* options, cubinet_service** service) {
  ++record.opens;
  record.device = options->device;
  record.miss = options->miss;
  *service = new cubinet_service{options->device, options->miss};
  return CUBINET_OK;
}

SHOWN void cubinet_close(cubinet_service* service) { delete service; }

SHOWN cubinet_status cubinet_prepare(cubinet_service* service, const cubinet_problem* problems, size_t count,
                                     cubinet_gemm** gemms, cubinet_start_report* report) {
  if (record.prepare_status != CUBINET_OK) return static_cast<cubinet_status>(record.prepare_status);
  if (record.interrupted != 0) pthread_kill(pthread_self(), SIGINT);
  for (volatile std::int64_t& held = record.held; held != 0; usleep(100)) held = 2;
  for (size_t i = 0; i < count; ++i) gemms[i] = new cubinet_gemm{problems[i], service->miss};
  record.prepared += static_cast<std::int64_t>(count);
  record.m_last = problems[count - 1].m_last;
  report->loaded = static_cast<std::int64_t>(count);
  report->milliseconds = 1.5;
  report->warning = "a layer was left out";
  return CUBINET_OK;
}

SHOWN cubinet_status cubinet_background(const cubinet_service*, cubinet_background_report* report) {
  report->pending = record.pending;
  report->last_failure = "";
  return CUBINET_OK;
}

SHOWN cubinet_status cubinet_wait_for_background(const cubinet_service*, double seconds, int32_t* done) {
  if (record.pending != 0) usleep(static_cast<useconds_t>(seconds * 1e6));
  *done = record.pending == 0 ? 1 : 0;
  return CUBINET_OK;
}

SHOWN const char* cubinet_last_error() { return "the engine's reason"; }
SHOWN const char* cubinet_last_error_detail() { return "a log"; }

SHOWN cubinet_status cubinet_launch_bf16_grouped_contiguous(const cubinet_gemm* gemm,
                                                            const cubinet_contiguous_args* arguments, void* stream) {
  return note_contiguous(0, gemm, arguments, stream);
}
SHOWN cubinet_status cubinet_launch_bf16_grouped_masked(const cubinet_gemm* gemm, const cubinet_masked_args* arguments,
                                                        void* stream) {
  return note_masked(1, gemm, arguments, stream);
}
SHOWN cubinet_status cubinet_launch_fp8_grouped_contiguous(const cubinet_gemm* gemm,
                                                           const cubinet_contiguous_args* arguments, void* stream) {
  return note_contiguous(2, gemm, arguments, stream);
}
SHOWN cubinet_status cubinet_launch_fp8_grouped_masked(const cubinet_gemm* gemm, const cubinet_masked_args* arguments,
                                                       void* stream) {
  return note_masked(3, gemm, arguments, stream);
}

}  // extern "C"
