#include "jit/compile_messages.hpp"

#include <cstring>
#include <utility>

namespace cubinet::jit {
namespace {

enum class RequestKind : std::uint8_t { open, compile };
enum class AnswerKind : std::uint8_t { error, opened, code };

class Writer {
 public:
  template <class Number>
  Writer& number(Number value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    text_.append(bytes, sizeof value);
    return *this;
  }
  Writer& text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    text_ += value;
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// Reads values from a message. Once a value is missing, that value and all later ones read as 0 or empty, and
// is_whole() is false.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  template <class Number>
  Number number() {
    Number value{};
    if (rest_.size() < sizeof value) return fail_with(value);
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  std::string text() {
    const auto length = number<std::uint32_t>();
    if (rest_.size() < length) return fail_with(std::string());
    std::string value(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return value;
  }
  // A wrong count cannot loop long: each element takes at least four bytes, and reading stops at the end of the text.
  template <class Element>
  auto list(Element read) {
    std::vector<decltype(read())> elements;
    const auto count = number<std::uint32_t>();
    for (std::uint32_t i = 0; i < count && valid_; ++i) elements.push_back(read());
    return elements;
  }
  [[nodiscard]] bool is_whole() const { return valid_ && rest_.empty(); }

 private:
  template <class Value>
  Value fail_with(Value value) {
    valid_ = false;
    rest_ = {};
    return value;
  }
  std::string_view rest_;
  bool valid_ = true;
};

void write(Writer& to, const Error& error) {
  to.number(AnswerKind::error).number(static_cast<std::uint8_t>(error.code)).text(error.message).text(error.detail);
}

void write(Writer& to, const NvrtcLocation& location) {
  to.number(AnswerKind::opened).text(location.path).text(location.version);
}

void write(Writer& to, const NvrtcAnswer& answer) { to.number(AnswerKind::code).text(answer.bytes).text(answer.log); }

bool read_result(Reader& from, WorkerAnswer& answer) {
  switch (from.number<AnswerKind>()) {
    case AnswerKind::error: {
      const auto code = static_cast<ErrorCode>(from.number<std::uint8_t>());
      std::string message = from.text();
      answer.result = Error{code, std::move(message), from.text()};
      return true;
    }
    case AnswerKind::opened: {
      NvrtcLocation location;
      location.path = from.text();
      location.version = from.text();
      answer.result = std::move(location);
      return true;
    }
    case AnswerKind::code: {
      std::string bytes = from.text();
      answer.result = NvrtcAnswer{std::move(bytes), from.text()};
      return true;
    }
  }
  return false;
}

CompileRequest read_compilation(Reader& from) {
  CompileRequest request;
  request.output = from.number<NvrtcOutput>();
  request.source = from.text();
  request.options = from.list([&] { return from.text(); });
  request.headers = from.list([&] {
    std::string name = from.text();
    return std::pair(std::move(name), from.text());
  });
  return request;
}

}  // namespace

const std::string_view worker_build = "cubinet " CUBINET_VERSION ", messages 1";

std::string encode(const OpenRequest& request) { return Writer().number(RequestKind::open).text(request.file).take(); }

std::string encode(const NvrtcInput& input, NvrtcOutput output) {
  Writer to;
  to.number(RequestKind::compile).number(output).text(input.source);
  to.number(static_cast<std::uint32_t>(input.options.size()));
  for (const std::string& option : input.options) to.text(option);
  to.number(static_cast<std::uint32_t>(input.headers.size()));
  for (const TemplateFile* header : input.headers) to.text(header->name).text(header->text);
  return to.take();
}

std::optional<std::variant<OpenRequest, CompileRequest>> decode_request(std::string_view text) {
  Reader from(text);
  std::variant<OpenRequest, CompileRequest> request;
  const auto kind = from.number<RequestKind>();
  if (kind == RequestKind::open) {
    request = OpenRequest{from.text()};
  } else if (kind == RequestKind::compile) {
    request = read_compilation(from);
  } else {
    return std::nullopt;
  }
  return from.is_whole() ? std::optional(std::move(request)) : std::nullopt;
}

std::string encode(const WorkerAnswer& answer) {
  Writer to;
  std::visit([&](const auto& result) { write(to, result); }, answer.result);
  return to.number(answer.memory.peak).number(answer.memory.shared).take();
}

std::optional<WorkerAnswer> decode_answer(std::string_view text) {
  Reader from(text);
  WorkerAnswer answer;
  if (!read_result(from, answer)) return std::nullopt;
  answer.memory.peak = from.number<std::int64_t>();
  answer.memory.shared = from.number<std::int64_t>();
  return from.is_whole() ? std::optional(std::move(answer)) : std::nullopt;
}

}  // namespace cubinet::jit
