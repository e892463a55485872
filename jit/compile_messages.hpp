// The messages between a process and its compile workers (worker_pool.hpp).
//
//   worker:  hello     worker_build
//   parent:  request   kind u8; open (0): file; compile (1): output u8, source, options, headers
//   worker:  answer    kind u8; error (0): code u8, message, detail; opened (1): path, version;
//                      code (2): bytes, log;  then the memory of the worker: two u64
//
// Each request gets one answer. A text is its length (u32) and its bytes. A list is its length (u32) and its elements.
// A header is two texts: name and contents. Numbers have the byte order of the machine, because both sides are one
// build on one machine.
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

// "cubinet 0.1.0, messages 1". A worker that sends another text is rejected. The number increases when the format of a
// message changes.
extern const std::string_view worker_build;

struct OpenRequest {
  std::string file;  // see NvrtcLibrary::load
};

// A compilation with all its inputs. Owns the texts; input() borrows them.
struct CompileRequest {
  NvrtcOutput output = NvrtcOutput::cubin;
  std::string source;
  std::vector<std::string> options;
  std::vector<std::pair<std::string, std::string>> headers;
};

std::string encode(const OpenRequest& request);
std::string encode(const NvrtcInput& input, NvrtcOutput output);

// nullopt if the text is not a request.
std::optional<std::variant<OpenRequest, CompileRequest>> decode_request(std::string_view text);

// Memory of a worker, in bytes.
struct WorkerMemory {
  std::int64_t peak = 0;    // peak resident memory
  std::int64_t shared = 0;  // resident pages of files now; all workers share those of NVRTC
};

struct WorkerAnswer {
  std::variant<Error, NvrtcLocation, NvrtcAnswer> result;
  WorkerMemory memory;
};

std::string encode(const WorkerAnswer& answer);

// nullopt if the text is not an answer.
std::optional<WorkerAnswer> decode_answer(std::string_view text);

}  // namespace cubinet::jit
