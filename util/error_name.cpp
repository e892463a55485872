#include "util/error_name.hpp"

namespace cubinet::util {

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
    case ErrorCode::capturing:
      return "capturing";
    case ErrorCode::no_room:
      return "no_room";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
  }
  return "unknown";
}

}  // namespace cubinet::util
