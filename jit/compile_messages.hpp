// What a process that compiles and its workers say to each other (worker_pool.hpp, compile_worker.hpp).
//
//   worker:  hello     worker_build
//   parent:  request   kind u8; open (0): file; compile (1): output u8, source, options, headers
//   worker:  answer    kind u8; error (0): code u8, message, detail; opened (1): path, version;
//                      code (2): bytes, log;  then the worker's memory: two u64
// One answer to each request. A text is its length, u32, and its bytes; a list its length, u32, and its elements; a
// header two texts, name and contents. Numbers are in the machine's order: both ends are one build on one machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "jit/compiler.hpp"
#include "jit/nvrtc_library.hpp"
#include "util/expected.hpp"

namespace cubinet::jit {

// "cubinet 0.1.0, messages 1": a worker that says another text is refused. The number grows when a message's form does.
extern const std::string_view worker_build;

struct OpenRequest {
  std::string file;  // see NvrtcLibrary::load
};

// A compilation with all that it reads. Owns the texts; input() borrows them.
struct CompileRequest {
  NvrtcOutput output = NvrtcOutput::cubin;
  std::string source;
  std::vector<std::string> options;
  std::vector<std::pair<std::string, std::string>> headers;
};

std::string encode(const OpenRequest& request);
std::string encode(const NvrtcInput& input, NvrtcOutput output);

// nullopt for a text that is no request.
std::optional<std::variant<OpenRequest, CompileRequest>> decode_request(std::string_view text);

// What a worker holds, in bytes.
struct WorkerMemory {
  std::int64_t peak = 0;    // most that was resident
  std::int64_t shared = 0;  // pages of files that are resident now: all workers share NVRTC's
};

struct WorkerAnswer {
  std::variant<Error, NvrtcLocation, NvrtcAnswer> result;
  WorkerMemory memory;
};

std::string encode(const WorkerAnswer& answer);

// nullopt for a text that is no answer.
std::optional<WorkerAnswer> decode_answer(std::string_view text);

}  // namespace cubinet::jit
