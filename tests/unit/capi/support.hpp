// Helpers for tests of planning and warming through the C interface.
#pragma once

#include <dlfcn.h>

#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "cubinet/cubinet.h"
#include "unit/util/temp_folder.hpp"

namespace cubinet::test {

// Owns a text that the library returned.
class GivenText {
 public:
  GivenText() = default;
  ~GivenText() { cubinet_free(text_); }
  GivenText(const GivenText&) = delete;
  GivenText& operator=(const GivenText&) = delete;

  [[nodiscard]] char** where() { return &text_; }
  [[nodiscard]] bool there() const { return text_ != nullptr; }
  // The parsed text; is_discarded() if it is not JSON.
  [[nodiscard]] nlohmann::json object() const { return nlohmann::json::parse(text_, nullptr, false); }

 private:
  char* text_ = nullptr;
};

// A problem that compiles fast.
inline cubinet_problem small_problem(std::int64_t n = 128) {
  cubinet_problem problem = CUBINET_PROBLEM_INIT;
  problem.layout = CUBINET_MASKED;
  problem.n = n;
  problem.k = 128;
  problem.groups = 2;
  return problem;
}

// A request with one kernel per problem.
inline cubinet_request small_request(const cubinet_problem* problems, std::size_t count) {
  cubinet_request request = CUBINET_REQUEST_INIT;
  request.problems = problems;
  request.problem_count = count;
  request.m_last = 8;
  request.no_generic = 1;
  return request;
}

// A root that does not exist yet, in a temporary folder, and options that name it.
class RootOptions {
 public:
  RootOptions() { options_.cache_root = root_.c_str(); }
  RootOptions(const RootOptions&) = delete;
  RootOptions& operator=(const RootOptions&) = delete;

  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] cubinet_options& operator*() { return options_; }
  [[nodiscard]] cubinet_options* get() { return &options_; }

 private:
  TempFolder folder_;
  std::string root_ = folder_ / "root";
  cubinet_options options_ = CUBINET_OPTIONS_INIT;
};

// The fields of a model of 8 experts.
inline constexpr const char* small_model =
    R"("num_experts": 8, "hidden_size": 256, "moe_intermediate_size": 128, "model_type": "small")";

// A file with a model that has these fields.
class ModelFile {
 public:
  explicit ModelFile(const std::string& fields = small_model) { write_file(path_, "{" + fields + "}"); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  TempFolder folder_;
  std::string path_ = folder_ / "config.json";
};

// Whether the loader finds a CUDA driver.
inline bool has_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  dlclose(library);
  return true;
}

inline std::string last_error() { return cubinet_last_error(); }

}  // namespace cubinet::test
