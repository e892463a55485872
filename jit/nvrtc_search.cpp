#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "jit/compiler.hpp"
#include "jit/jobs.hpp"
#include "jit/nvrtc_library.hpp"
#include "util/machine.hpp"

namespace cubinet::jit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

constexpr const char* kInstallNvrtc =
    "install a CUDA 13 toolkit, or `pip install nvidia-cuda-nvrtc==13.0.88`, and name its folder with CUDA_HOME or "
    "CUBINET_NVRTC_DIR";

std::vector<std::string> folders_to_search(const std::vector<std::string>& given) {
  std::vector<std::string> folders;
  const auto add = [&](const std::string& folder) {
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(folder);
  };
  for (const std::string& folder : given) {
    if (folder.empty()) continue;
    for (const char* below : {"", "/lib64", "/lib"}) add(folder + below);
  }
  add("/usr/local/cuda/lib64");
  if (*CUBINET_NVRTC_DIR != '\0') add(CUBINET_NVRTC_DIR);
  return folders;
}

// Paths of the files that exist, then the names for the loader. Paths are absolute, because a compile worker or a later
// call may have another working folder.
std::vector<std::string> files_to_try(const std::vector<std::string>& folders) {
  std::vector<std::string> files;
  for (const std::string& folder : folders) {
    for (const char* name : kNames) {
      std::error_code ignored;
      const fs::path path = fs::absolute(fs::path(folder) / name, ignored).lexically_normal();
      if (fs::exists(path, ignored)) files.push_back(path.string());
    }
  }
  files.insert(files.end(), std::begin(kNames), std::end(kNames));
  return files;
}

// The error when libraries exist and none of them could be used. It is out_of_memory if the first one failed for that
// reason, or if too little memory is left for a compilation.
tl::unexpected<Error> refuse_all(const Error& first, std::string tried) {
  const std::string message = "NVRTC exists, but could not be loaded: " + first.message + "; ";
  if (first.code == ErrorCode::out_of_memory) return fail(first.code, message + memory_advice(), std::move(tried));
  const auto room = check_memory(util::memory_rooms());
  if (!room) return fail(ErrorCode::out_of_memory, message + room.error().message, std::move(tried));
  return fail(ErrorCode::compiler_missing, message + kInstallNvrtc, std::move(tried));
}

std::string joined(const std::vector<std::string>& folders) {
  std::string text;
  for (const std::string& folder : folders) text += folder + ", ";
  return text + "and the loader's search path";
}

}  // namespace

Expected<NvrtcLocation> find_nvrtc(const std::vector<std::string>& folders, const OpenNvrtc& open) {
  const std::vector<std::string> places = folders_to_search(folders);
  std::string tried;
  std::optional<Error> refused;
  for (const std::string& file : files_to_try(places)) {
    auto opened = open(file);
    if (opened) {
      if (refused) opened->refused = refused->message;
      return opened;
    }
    tried += opened.error().message + "\n" + opened.error().detail;
    if (!refused && opened.error().code != ErrorCode::not_found) refused = std::move(opened.error());
  }
  if (refused) return refuse_all(*refused, std::move(tried));
  return fail(ErrorCode::compiler_missing, "NVRTC not found: looked in " + joined(places) + "; " + kInstallNvrtc,
              std::move(tried));
}

}  // namespace cubinet::jit
