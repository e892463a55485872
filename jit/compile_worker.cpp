#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "jit/compile_messages.hpp"
#include "jit/worker_pool.hpp"
#include "util/clock.hpp"
#include "util/machine.hpp"
#include "util/message_stream.hpp"

namespace cubinet::jit {
namespace {

class Worker {
 public:
  std::string answer(const std::string& text) noexcept {
    WorkerAnswer answer;
    try {
      const auto request = decode_request(text);
      if (!request) return encode({Error{ErrorCode::invalid_argument, "the worker was sent no request", {}}, {}});
      answer.result = std::visit([this](const auto& what) { return result_of(carry_out(what)); }, *request);
    } catch (const std::exception& exception) {
      answer.result = error_of(exception, ErrorCode::compile_failed);
    }
    answer.memory = {util::peak_resident_bytes(), util::resident_file_bytes()};
    return encode(answer);
  }

 private:
  using Result = decltype(WorkerAnswer::result);

  template <class Value>
  static Result result_of(Expected<Value> value) {
    if (value) return std::move(*value);
    return std::move(value.error());
  }

  Expected<NvrtcLocation> carry_out(const OpenRequest& request) {
    auto library = NvrtcLibrary::load(request.file);
    if (!library) return propagate(library);
    library_ = std::move(*library);
    return library_->location;
  }

  Expected<NvrtcAnswer> carry_out(const CompileRequest& request) {
    if (!library_) return fail(ErrorCode::compiler_missing, "the worker has opened no NVRTC");
    std::vector<TemplateFile> files;
    for (const auto& [name, text] : request.headers) files.push_back({name, text, {}});
    NvrtcInput input{request.source, {}, request.options};
    for (const TemplateFile& file : files) input.headers.push_back(&file);
    return run_nvrtc(*library_, input, request.output);
  }

  std::optional<NvrtcLibrary> library_;
};

}  // namespace

void serve_compilations(int socket) {
  if (!util::send_message(socket, worker_build)) return;
  Worker worker;
  constexpr auto ever = util::Moment::max();
  std::string text;
  while (util::receive_message(socket, text, ever) == util::Received::message) {
    if (!util::send_message(socket, worker.answer(text))) return;
  }
}

}  // namespace cubinet::jit
