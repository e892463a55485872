// Compile workers with a fake libnvrtc that fails on request (fake_nvrtc.cpp).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "jit/compiler.hpp"
#include "jit/worker_pool.hpp"

namespace cubinet::test {

inline std::string fake_nvrtc() { return CUBINET_FAKE_NVRTC "/libnvrtc.so"; }
inline std::string crashing_nvrtc() { return CUBINET_CRASHING_NVRTC "/libnvrtc.so"; }

// A pool that uses the fake library.
inline std::unique_ptr<jit::WorkerPool> fake_pool(const jit::WorkerPatience& patience = {}) {
  auto pool = jit::WorkerPool::start(jit::shipped_worker(), patience);
  INFO((pool ? std::string() : pool.error().message));
  REQUIRE(pool);
  const auto opened = (*pool)->open(fake_nvrtc());
  INFO((opened ? std::string() : opened.error().message));
  REQUIRE(opened);
  return std::move(*pool);
}

// Compiles a program that contains these words.
inline Expected<jit::NvrtcAnswer> run(jit::WorkerPool& pool, const std::string& words) {
  auto answer = pool.run({words, {}, {}}, jit::NvrtcOutput::cubin);
  return answer ? *std::move(answer) : fail(ErrorCode::io, "no worker could be started");
}

// The child processes of this process, including zombies.
inline std::vector<pid_t> children() {
  std::vector<pid_t> found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream processes(task.path() / "children");
    for (pid_t process = 0; processes >> process;) found.push_back(process);
  }
  return found;
}

template <class Condition>
bool comes_true(const Condition& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

}  // namespace cubinet::test
