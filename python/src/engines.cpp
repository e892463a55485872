#include "python/src/engines.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <unordered_map>

#include "cubinet/problem.hpp"
#include "python/src/python_api.hpp"

namespace cubinet::python {
namespace {

struct Hash {
  std::size_t operator()(const ProblemKey& key) const {
    std::uint64_t value = static_cast<std::uint64_t>(key.n) * 0x9e3779b97f4a7c15U;
    value ^= static_cast<std::uint64_t>(key.k) * 0xc2b2ae3d27d4eb4fU;
    value += static_cast<std::uint64_t>(key.groups) << 16 | static_cast<std::uint64_t>(key.device) << 2 |
             static_cast<std::uint64_t>(key.layout) << 1 | static_cast<std::uint64_t>(key.dtype);
    value *= 0x9e3779b97f4a7c15U;
    return static_cast<std::size_t>(value >> 32);
  }
};

struct Prepared {
  MRange range{};
  cubinet_gemm* gemm = nullptr;
};

struct Engines {
  // Guarded by the GIL.
  std::unordered_map<ProblemKey, Prepared, Hash> table;

  // Held during a preparation, until its gemms are in the table: otherwise a slower preparation of another thread could
  // put back gemms that a start has replaced. It is only waited for without the GIL. Its holder may wait for the GIL,
  // but must not run Python code, which could try to prepare again.
  std::mutex preparing;

  // Guards the fields below; held only briefly.
  std::mutex mutex;
  std::map<std::int32_t, cubinet_service*> services;
  std::vector<cubinet_service*> replaced_services;
  int waiting = 0;  // threads in wait_for_background(), which use a service
  bool closed = false;
};
Engines* engines = new Engines;  // never deleted: threads may outlive the interpreter

cubinet_problem problem_of(const ProblemKey& key) {
  cubinet_problem problem = CUBINET_PROBLEM_INIT;
  problem.dtype = key.dtype;
  problem.layout = key.layout;
  problem.n = key.n;
  problem.k = key.k;
  problem.groups = key.groups;
  return problem;
}

ProblemKey key_of(const cubinet_problem& problem, std::int32_t device) {
  return {problem.dtype, problem.layout, device, problem.n, problem.k, problem.groups};
}

MRange range_of(const cubinet_problem& problem) { return {problem.m_first, problem.m_last}; }

// A problem has one gemm. Its range covers all ranges that were asked for, in this call and in earlier ones.
std::vector<cubinet_problem> widened(std::vector<cubinet_problem> problems, std::int32_t device) {
  const auto widen = [](cubinet_problem& problem, MRange range) {
    problem.m_first = std::min(problem.m_first, range.first);
    problem.m_last = std::max(problem.m_last, range.last);
  };
  for (cubinet_problem& problem : problems) {
    const ProblemKey key = key_of(problem, device);
    const auto before = engines->table.find(key);
    if (before != engines->table.end()) widen(problem, before->second.range);
    for (const cubinet_problem& other : problems) {
      if (key_of(other, device) == key) widen(problem, range_of(other));
    }
  }
  return problems;
}

// The options of a service that a first call opens: the environment's, with the NVRTC of Python's packages. False with
// an exception set.
bool default_options(std::int32_t device, EngineOptions& options) {
  options.device = device;
  const Reference module(PyImport_ImportModule("cubinet._nvrtc"));
  const Reference list(module ? PyObject_CallMethod(module.get(), "folders", nullptr) : nullptr);
  if (!list) return false;
  const Reference items(PySequence_Fast(list.get(), "cubinet._nvrtc.folders() gives no list"));
  if (!items) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    const Reference folder(PyUnicode_EncodeFSDefault(PySequence_Fast_GET_ITEM(items.get(), i)));
    if (!folder) return false;
    options.nvrtc_folders.emplace_back(PyBytes_AS_STRING(folder.get()));
  }
  return true;
}

// The device's service; null: none is open.
cubinet_service* service_of(std::int32_t device) {
  const std::lock_guard lock(engines->mutex);
  const auto found = engines->services.find(device);
  return found != engines->services.end() ? found->second : nullptr;
}

void put_service(std::int32_t device, cubinet_service* service) {
  const std::lock_guard lock(engines->mutex);
  cubinet_service*& place = engines->services[device];
  if (place != nullptr && place != service) engines->replaced_services.push_back(place);
  place = service;
}

cubinet_status prepare_with(cubinet_service* service, const std::vector<cubinet_problem>& problems,
                            std::vector<cubinet_gemm*>& gemms, cubinet_start_report& report) {
  gemms.assign(problems.size(), nullptr);
  if (problems.empty()) return CUBINET_OK;
  return cubinet_prepare(service, problems.data(), problems.size(), gemms.data(), &report);
}

// To be called without the GIL.
cubinet_status prepare_all(EngineOptions& options, bool reopen, const std::vector<cubinet_problem>& problems,
                           std::vector<cubinet_gemm*>& gemms, cubinet_start_report& report) {
  cubinet_service* service = reopen ? nullptr : service_of(options.device);
  const bool opened = service == nullptr;
  if (opened) {
    const cubinet_options c_options = options.c_options();
    if (const cubinet_status status = cubinet_open(&c_options, &service); status != CUBINET_OK) return status;
  }
  const cubinet_status status = prepare_with(service, problems, gemms, report);
  if (status == CUBINET_OK) {
    put_service(options.device, service);
  } else if (opened) {
    cubinet_close(service);
  }
  return status;
}

// A preparation. Only one exists at a time; the constructor waits for that, without the GIL.
class Preparation {
 public:
  Preparation() : lock_(engines->preparing, std::defer_lock) {
    const WithoutGil released;
    lock_.lock();
  }

  // False with an exception set.
  bool run(EngineOptions& options, bool reopen, const std::vector<cubinet_problem>& asked,
           cubinet_start_report& report) {
    if (engines->closed) return refuse(CUBINET_INTERNAL, "the interpreter ends");
    const std::vector<cubinet_problem> problems = widened(asked, options.device);
    std::vector<cubinet_gemm*> gemms;
    cubinet_status status = CUBINET_OK;
    {
      const WithoutGil released;
      status = prepare_all(options, reopen, problems, gemms, report);
    }
    if (status != CUBINET_OK) return refuse(status, nullptr);
    auto& table = engines->table;
    if (reopen) std::erase_if(table, [&](const auto& one) { return one.first.device == options.device; });
    for (std::size_t i = 0; i < problems.size(); ++i)
      table[key_of(problems[i], options.device)] = {range_of(problems[i]), gemms[i]};
    return true;
  }

 private:
  // Sets an exception, with this thread's last error if `reason` is null. That runs Python code, so it unlocks first.
  bool refuse(cubinet_status status, const char* reason) {
    lock_.unlock();
    reason != nullptr ? raise_error(status, reason) : raise_status(status);
    return false;
  }

  std::unique_lock<std::mutex> lock_;
};

constexpr const char* kFirstSight =
    "a problem is seen for the first time while its stream is captured into a CUDA graph: name it to cubinet.start(), "
    "or call it once before the capture";

}  // namespace

cubinet_options EngineOptions::c_options() {
  pointers.clear();
  for (const std::string& folder : layers) pointers.push_back(folder.c_str());
  for (const std::string& folder : nvrtc_folders) pointers.push_back(folder.c_str());
  cubinet_options options = CUBINET_OPTIONS_INIT;
  options.device = device;
  options.jobs = jobs;
  options.miss = miss;
  options.cache_root = has_cache_root ? cache_root.c_str() : nullptr;
  options.layers = pointers.data();
  options.layer_count = layers.size();
  options.nvrtc_folders = pointers.data() + layers.size();
  options.nvrtc_folder_count = nvrtc_folders.size();
  return options;
}

cubinet_gemm* find_gemm(const ProblemKey& key) {
  const auto found = engines->table.find(key);
  return found != engines->table.end() ? found->second.gemm : nullptr;
}

cubinet_gemm* prepare_gemm(const ProblemKey& key, void* stream) {
  if (cubinet_is_capturing(stream) != 0) {
    raise_error(CUBINET_CAPTURING, kFirstSight);
    return nullptr;
  }
  EngineOptions options;
  if (!default_options(key.device, options)) return nullptr;
  Preparation preparation;
  if (cubinet_gemm* gemm = find_gemm(key)) return gemm;  // another thread has prepared it meanwhile
  cubinet_start_report report = CUBINET_START_REPORT_INIT;
  if (!preparation.run(options, false, {problem_of(key)}, report)) return nullptr;
  return find_gemm(key);
}

bool start_engine(EngineOptions& options, bool reopen, const std::vector<cubinet_problem>& problems,
                  cubinet_start_report& report) {
  return Preparation().run(options, reopen, problems, report);
}

bool background(std::int32_t device, cubinet_background_report& report) {
  const cubinet_service* service = service_of(device);
  const cubinet_status status = service != nullptr ? cubinet_background(service, &report) : CUBINET_OK;
  if (status != CUBINET_OK) raise_status(status);
  return status == CUBINET_OK;
}

namespace {

// Keeps the services open while a thread waits for one: close_services() does not close them then.
class Waiter {
 public:
  Waiter() { add(1); }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter() { add(-1); }

 private:
  static void add(int count) {
    const std::lock_guard lock(engines->mutex);
    engines->waiting += count;
  }
};

}  // namespace

bool wait_for_background(std::int32_t device, double seconds, bool& done) {
  using Clock = std::chrono::steady_clock;
  constexpr double slice = 0.05;  // seconds between two checks for signals
  const Waiter waiter;
  const cubinet_service* service = service_of(device);
  const auto begin = Clock::now();
  std::int32_t ready = service == nullptr ? 1 : 0;
  for (double left = seconds; ready == 0;) {
    cubinet_status status = CUBINET_OK;
    {
      const WithoutGil released;
      status = cubinet_wait_for_background(service, std::min(left, slice), &ready);
    }
    if (status != CUBINET_OK) return raise_status(status), false;
    if (PyErr_CheckSignals() != 0) return false;
    left = seconds - std::chrono::duration<double>(Clock::now() - begin).count();
    if (left <= 0) break;
  }
  done = ready != 0;
  return true;
}

void close_services() {
  const Preparation last;
  const WithoutGil released;
  const std::lock_guard lock(engines->mutex);
  engines->closed = true;
  if (engines->waiting > 0) return;  // a thread uses a service; the process ends anyway
  for (const auto& [device, service] : engines->services) cubinet_close(service);
  for (cubinet_service* service : engines->replaced_services) cubinet_close(service);
  engines->services.clear();
  engines->replaced_services.clear();
}

void forget_services() { engines = new Engines; }

}  // namespace cubinet::python
