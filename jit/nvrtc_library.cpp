#include "jit/nvrtc_library.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "jit/jobs.hpp"
#include "jit/nvrtc_log.hpp"
#include "jit/nvrtc_signals.hpp"
#include "util/memory.hpp"

namespace cubinet::jit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

constexpr const char* kMend =
    "install a CUDA 13 toolkit, or `pip install nvidia-cuda-nvrtc`, and name its folder with CUDA_HOME or "
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

// NVRTC looks its builtins library up by name alone, through the loader. Loading it first, from NVRTC's own folder,
// answers that look-up where the folder is on no search path, and keeps another CUDA's builtins out.
void load_builtins(const fs::path& folder) {
  std::error_code trouble;  // ends the listing: check_builtins tells what is missing
  for (fs::directory_iterator file(folder, trouble); !trouble && file != fs::directory_iterator();
       file.increment(trouble)) {
    const bool wanted = file->path().filename().string().starts_with("libnvrtc-builtins.so.");
    if (wanted) dlopen(file->path().c_str(), RTLD_NOW | RTLD_LOCAL);
  }
}

// What the loader says of the latest failure; it begins with a file's name.
std::string loader_reason(const std::string& name) {
  const char* reason = dlerror();
  return reason != nullptr ? reason : name + ": refused";
}

// What came of the search so far.
struct Search {
  std::string tried;    // a line for each library that the loader did not take
  std::string refused;  // why the first NVRTC that is there could not be loaded; empty when none is there
};

// `there`: whether the file is known to exist. Where the loader looks for it, its answer tells.
void* load(const std::string& name, bool there, Search& search) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return handle;
  const std::string reason = loader_reason(name);
  search.tried += reason + "\n";
  if (!there) there = !reason.starts_with(name + ": cannot open shared object file: No such file");
  if (there && search.refused.empty()) search.refused = reason;
  return nullptr;
}

struct Opened {
  void* handle = nullptr;
  std::string path;
};

Opened open_in(const std::string& folder, Search& search) {
  for (const char* name : kNames) {
    std::error_code ignored;
    const fs::path path = fs::path(folder) / name;
    if (!fs::exists(path, ignored)) continue;
    load_builtins(folder);
    if (void* handle = load(path.string(), true, search)) return {handle, path.string()};
  }
  return {};
}

// The file that the loader chose for a library that was opened by its name alone.
std::string path_of(void* function, const std::string& name) {
  Dl_info info{};
  return dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : name;
}

Opened open_through_loader(Search& search) {
  for (const char* name : kNames) {
    void* handle = load(name, false, search);
    if (handle == nullptr) continue;
    void* function = dlsym(handle, "nvrtcVersion");
    const std::string path = function != nullptr ? path_of(function, name) : name;
    load_builtins(fs::path(path).parent_path());
    return {handle, path};
  }
  return {};
}

Opened open_any(const std::vector<std::string>& folders, Search& search) {
  for (const std::string& folder : folders) {
    if (Opened opened = open_in(folder, search); opened.handle != nullptr) return opened;
  }
  return open_through_loader(search);
}

// Name of the first function that the library lacks, nullptr when it has all.
const char* fill(void* handle, NvrtcLibrary& library) {
#define CUBINET_NVRTC_RESOLVE(function)                                                      \
  library.function = reinterpret_cast<decltype(library.function)>(dlsym(handle, #function)); \
  if (library.function == nullptr) return #function;
  CUBINET_NVRTC_FUNCTIONS(CUBINET_NVRTC_RESOLVE)
#undef CUBINET_NVRTC_RESOLVE
  return nullptr;
}

// A library is there and the loader does not take it: for want of memory, where there is too little for a compilation.
tl::unexpected<Error> refuse_to_load(const std::string& reason, std::string detail) {
  const std::string message = "NVRTC is there, but could not be loaded: " + reason + "; ";
  const auto room = check_memory(util::memory_rooms());
  if (!room) return fail(ErrorCode::out_of_memory, message + room.error().message, std::move(detail));
  return fail(ErrorCode::compiler_missing, message + kMend, std::move(detail));
}

// Every compilation needs the builtins; without them NVRTC would fail at the first one, in words of its own.
Expected<void> check_builtins(const std::string& path, const std::string& release) {
  const std::string name = "libnvrtc-builtins.so." + release;
  if (dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return {};
  std::string reason = loader_reason(name);
  const fs::path file = fs::path(path).parent_path() / name;
  if (std::error_code ignored; fs::exists(file, ignored)) {
    if (dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return {};
    reason = loader_reason(file.string());
    return refuse_to_load(reason, reason);
  }
  return fail(ErrorCode::compiler_missing,
              "NVRTC at " + path + " lacks " + name + ", which belongs into the same folder; " + kMend,
              std::move(reason));
}

// Compiles an empty program (12 ms) and reads the build from the head of its PTX, since nvrtcVersion tells "13.0" alone.
Expected<std::string> build_of(const NvrtcLibrary& library, const std::string& release) {
  auto ptx = run_nvrtc(library, {}, NvrtcOutput::ptx);
  if (!ptx) return tl::make_unexpected(std::move(ptx.error()));
  return build_in_ptx(ptx->bytes, release);
}

std::string joined(const std::vector<std::string>& folders) {
  std::string text;
  for (const std::string& folder : folders) text += folder + ", ";
  return text + "and the loader's search path";
}

}  // namespace

Expected<NvrtcLibrary> NvrtcLibrary::open(const std::vector<std::string>& folders) {
  const std::vector<std::string> places = folders_to_search(folders);
  Search search;
  const Opened opened = open_any(places, search);
  if (opened.handle == nullptr) {
    if (!search.refused.empty()) return refuse_to_load(search.refused, std::move(search.tried));
    return fail(ErrorCode::compiler_missing, "NVRTC not found: looked in " + joined(places) + "; " + kMend,
                std::move(search.tried));
  }
  keep_signals_from(opened.handle);
  NvrtcLibrary library;
  if (const char* missing = fill(opened.handle, library)) {
    return fail(ErrorCode::compiler_missing,
                "NVRTC at " + opened.path + " has no " + missing + ": it is too old; " + kMend);
  }
  int major = 0;
  int minor = 0;
  if (const nvrtcResult result = library.nvrtcVersion(&major, &minor); result != NVRTC_SUCCESS) {
    return fail(ErrorCode::compiler_missing, "NVRTC at " + opened.path + " does not tell its version: " +
                                                 library.nvrtcGetErrorString(result) + "; " + kMend);
  }
  const std::string release = std::to_string(major) + "." + std::to_string(minor);
  if (auto complete = check_builtins(opened.path, release); !complete) return tl::make_unexpected(complete.error());
  auto version = build_of(library, release);
  if (!version) return tl::make_unexpected(version.error());
  library.location = {opened.path, std::move(*version), search.refused};
  return library;
}

namespace {

// An NVRTC program, destroyed with its scope.
class Program {
 public:
  explicit Program(const NvrtcLibrary& nvrtc) : nvrtc_(nvrtc) {}
  ~Program() {
    if (program_ != nullptr) nvrtc_.nvrtcDestroyProgram(&program_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  nvrtcResult create(const NvrtcInput& input) {
    std::vector<const char*> texts;
    std::vector<const char*> names;
    for (const TemplateFile* header : input.headers) {
      texts.push_back(header->text.data());
      names.push_back(header->name.c_str());
    }
    return nvrtc_.nvrtcCreateProgram(&program_, input.source.c_str(), "kernel.cu", static_cast<int>(texts.size()),
                                     texts.data(), names.data());
  }

  nvrtcResult compile(const std::vector<std::string>& options) {
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    return nvrtc_.nvrtcCompileProgram(program_, static_cast<int>(pointers.size()), pointers.data());
  }

  // The log, the cubin or the PTX; empty when there is none.
  template <class Size, class Get>
  std::string read(Size get_size, Get get) const {
    std::size_t size = 0;
    if (get_size(program_, &size) != NVRTC_SUCCESS) return {};
    std::string bytes(size, '\0');
    if (size == 0 || get(program_, bytes.data()) != NVRTC_SUCCESS) return {};
    return bytes;
  }

 private:
  const NvrtcLibrary& nvrtc_;
  nvrtcProgram program_ = nullptr;
};

void drop_final_nul(std::string& text) {
  if (!text.empty() && text.back() == '\0') text.pop_back();
}

tl::unexpected<Error> refuse(const NvrtcLibrary& nvrtc, const std::string& what, nvrtcResult result,
                             std::string log = {}) {
  const std::string name = nvrtc.nvrtcGetErrorString(result);
  const bool no_memory =
      result == NVRTC_ERROR_OUT_OF_MEMORY || (result == NVRTC_ERROR_COMPILATION && tells_of_memory(log));
  if (no_memory) return fail(ErrorCode::out_of_memory, "NVRTC got no memory (" + name + "); " + memory_mend(), log);
  return fail(ErrorCode::compile_failed, what + ": " + name, std::move(log));
}

}  // namespace

Expected<NvrtcAnswer> run_nvrtc(const NvrtcLibrary& nvrtc, const NvrtcInput& input, NvrtcOutput output) {
  Program program(nvrtc);
  if (const nvrtcResult made = program.create(input); made != NVRTC_SUCCESS)
    return refuse(nvrtc, "NVRTC took no program", made);
  const nvrtcResult compiled = program.compile(input.options);
  NvrtcAnswer answer;
  answer.log = printable_log(program.read(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog));
  if (compiled != NVRTC_SUCCESS) return refuse(nvrtc, "NVRTC refused the source", compiled, answer.log);
  if (output == NvrtcOutput::cubin) {
    answer.bytes = program.read(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN);
  } else {
    answer.bytes = program.read(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX);
    drop_final_nul(answer.bytes);
  }
  if (answer.bytes.empty())
    return fail(ErrorCode::compile_failed, "NVRTC reported success and gave no code", answer.log);
  return answer;
}

}  // namespace cubinet::jit
