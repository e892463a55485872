#include "tools/output.hpp"

#include <cstdio>

#include <nlohmann/json.hpp>

namespace cubinet::tools {
namespace {

void write(std::FILE* stream, std::string_view text) { std::fwrite(text.data(), 1, text.size(), stream); }

}  // namespace

void print_object(const Json& object) { print(object.dump(2, ' ', false, Json::error_handler_t::replace) + '\n'); }

void print(std::string_view text) { write(stdout, text); }

void note(std::string_view text) { write(stderr, "cubinet: note: " + one_line(text) + '\n'); }

int report_error(const Error& error, bool json, ExitCode exit_code) {
  write(stderr, "cubinet: error: " + one_line(error.message) + '\n');
  if (!error.detail.empty()) write(stderr, error.detail + (error.detail.back() == '\n' ? "" : "\n"));
  if (json) {
    Json body{{"code", code_name(error.code)}, {"message", one_line(error.message)}, {"detail", error.detail}};
    print_object(Json{{"error", std::move(body)}});
  }
  return exit_code;
}

bool finish_output() {
  const bool whole = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (!whole) write(stderr, "cubinet: error: standard output could not be written\n");
  return whole;
}

std::string_view code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::io:
      return "io";
    case ErrorCode::cache_unusable:
      return "cache_unusable";
    case ErrorCode::compiler_missing:
      return "compiler_missing";
    case ErrorCode::compile_failed:
      return "compile_failed";
    case ErrorCode::driver_missing:
      return "driver_missing";
    case ErrorCode::wrong_device:
      return "wrong_device";
    case ErrorCode::driver_failed:
      return "driver_failed";
    case ErrorCode::not_prepared:
      return "not_prepared";
  }
  return "unknown";
}

std::string_view persist_name(cache::Persistence persistence) {
  switch (persistence) {
    case cache::Persistence::on:
      return "on";
    case cache::Persistence::readonly:
      return "readonly";
    case cache::Persistence::off:
      return "off";
  }
  return "off";
}

Json config_object(const jit::TileConfig& config) {
  return Json{{"name", jit::name(config)},
              {"block_tokens", config.block_tokens},
              {"token_step", config.token_step},
              {"block_columns", config.block_columns},
              {"stages", config.stages},
              {"cluster", config.cluster},
              {"raster_band", config.raster_band},
              {"largest_first", config.largest_first},
              {"prefetch_weights", config.prefetch_weights}};
}

std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& character : line) {
    const auto value = static_cast<unsigned char>(character);
    if (value < 0x20 || value == 0x7F) character = ' ';
  }
  return line;
}

}  // namespace cubinet::tools
