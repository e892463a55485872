#include "jit/compile_messages.hpp"

#include "catch.hpp"

using namespace cubinet;

namespace {

jit::NvrtcInput input_with(const jit::TemplateFile& header) {
  return {"#include \"a.cuh\"\n", {&header}, {"-std=c++17", ""}};
}

}  // namespace

TEST_CASE("A request arrives as it was sent") {
  const jit::TemplateFile header{"a.cuh", "int a;", {}};
  const auto request = jit::decode_request(jit::encode(input_with(header), jit::NvrtcOutput::ptx));
  REQUIRE(request);
  const auto& compile = std::get<jit::CompileRequest>(*request);
  CHECK(compile.output == jit::NvrtcOutput::ptx);
  CHECK(compile.source == "#include \"a.cuh\"\n");
  CHECK(compile.options == std::vector<std::string>{"-std=c++17", ""});
  REQUIRE(compile.headers.size() == 1);
  CHECK(compile.headers[0] == std::pair<std::string, std::string>{"a.cuh", "int a;"});
  const auto open = jit::decode_request(jit::encode(jit::OpenRequest{"/a/libnvrtc.so"}));
  REQUIRE(open);
  CHECK(std::get<jit::OpenRequest>(*open).file == "/a/libnvrtc.so");
}

TEST_CASE("An answer arrives as it was sent") {
  const std::string bytes("cu\0bin", 6);
  const auto code = jit::decode_answer(jit::encode({jit::NvrtcAnswer{bytes, "log"}, {100, 40}}));
  REQUIRE(code);
  CHECK(std::get<jit::NvrtcAnswer>(code->result).bytes == bytes);
  CHECK(std::get<jit::NvrtcAnswer>(code->result).log == "log");
  CHECK(code->memory.peak == 100);
  CHECK(code->memory.shared == 40);
  const auto error = jit::decode_answer(jit::encode({Error{ErrorCode::out_of_memory, "none", "log"}, {}}));
  REQUIRE(error);
  CHECK(std::get<Error>(error->result).code == ErrorCode::out_of_memory);
  CHECK(std::get<Error>(error->result).detail == "log");
}

TEST_CASE("A message that is truncated at any length or too long is refused") {
  const jit::TemplateFile header{"a.cuh", "int a;", {}};
  const std::string request = jit::encode(input_with(header), jit::NvrtcOutput::cubin);
  const std::string answer = jit::encode({jit::NvrtcLocation{"/a", "13.0.88", {}, {}}, {1, 2}});
  for (std::size_t bytes = 0; bytes < request.size(); ++bytes)
    CHECK_FALSE(jit::decode_request(request.substr(0, bytes)));
  for (std::size_t bytes = 0; bytes < answer.size(); ++bytes) CHECK_FALSE(jit::decode_answer(answer.substr(0, bytes)));
  CHECK_FALSE(jit::decode_request(request + "x"));
  CHECK_FALSE(jit::decode_answer(answer + "x"));
}

TEST_CASE("A message with a list of four thousand million elements is refused without allocating them") {
  std::string text(1, '\1');
  text += '\0';
  text.append(4, '\0');
  text.append(4, '\xff');
  CHECK_FALSE(jit::decode_request(text));
  CHECK_FALSE(jit::decode_request("\x07"));
  CHECK_FALSE(jit::decode_answer("\x07"));
}
