#include "jit/nvrtc_library.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "jit/jobs.hpp"
#include "jit/nvrtc_log.hpp"
#include "jit/saved_signals.hpp"
#include "util/elf_file.hpp"

namespace cubinet::jit {
namespace {

namespace fs = std::filesystem;

// The message of the loader about the latest failure. It begins with the name of a file.
std::string loader_reason(const std::string& name) {
  const char* reason = dlerror();
  return reason != nullptr ? reason : name + ": refused";
}

// Loads a file after checking that it is complete. On failure returns null and sets `reason`.
void* load_file(const std::string& path, std::string& reason) {
  if (auto whole = util::check_shared_library(path); !whole) return reason = whole.error().message, nullptr;
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) reason = loader_reason(path);
  return handle;
}

// Loads the builtins library of NVRTC from the folder of NVRTC. NVRTC loads it by name without a path; the loader then
// uses the one that is already loaded. So it is found even if the folder is on no search path, and the builtins of
// another CUDA version are not used.
void load_builtins(const fs::path& folder) {
  std::error_code trouble;  // an error ends the listing; check_builtins reports missing builtins
  for (fs::directory_iterator file(folder, trouble); !trouble && file != fs::directory_iterator();
       file.increment(trouble)) {
    const bool wanted = file->path().filename().string().starts_with("libnvrtc-builtins.so.");
    if (std::string ignored; wanted) load_file(file->path(), ignored);
  }
}

struct Opened {
  void* handle = nullptr;
  std::string path;
};

// The file that the loader chose for a library that was opened by name without a path.
std::string file_of(void* function, const std::string& name) {
  Dl_info info{};
  return dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : name;
}

Expected<Opened> open_by_name(const std::string& name) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const std::string reason = loader_reason(name);
    const bool there = !reason.starts_with(name + ": cannot open shared object file: No such file");
    return fail(there ? ErrorCode::compiler_missing : ErrorCode::not_found, reason);
  }
  void* function = dlsym(handle, "nvrtcVersion");
  const std::string path = function != nullptr ? file_of(function, name) : name;
  load_builtins(fs::path(path).parent_path());
  return Opened{handle, path};
}

Expected<Opened> open_file(const std::string& file) {
  if (file.find('/') == std::string::npos) return open_by_name(file);
  load_builtins(fs::path(file).parent_path());
  std::string reason;
  void* handle = load_file(file, reason);
  if (handle == nullptr) return fail(ErrorCode::compiler_missing, reason);
  return Opened{handle, file};
}

// Returns the name of the first function that the library lacks, nullptr if it has all.
const char* fill(void* handle, NvrtcLibrary& library) {
#define CUBINET_NVRTC_RESOLVE(function)                                                      \
  library.function = reinterpret_cast<decltype(library.function)>(dlsym(handle, #function)); \
  if (library.function == nullptr) return #function;
  CUBINET_NVRTC_FUNCTIONS(CUBINET_NVRTC_RESOLVE)
#undef CUBINET_NVRTC_RESOLVE
  return nullptr;
}

// Fails if the builtins library cannot be loaded. Every compilation needs it; this error is clearer than the one that
// NVRTC gives at the first compilation.
Expected<void> check_builtins(const std::string& path, const std::string& release) {
  const std::string name = "libnvrtc-builtins.so." + release;
  if (dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return {};
  const std::string by_name = loader_reason(name);
  const fs::path file = fs::path(path).parent_path() / name;
  if (std::error_code ignored; !fs::exists(file, ignored)) {
    return fail(ErrorCode::compiler_missing, path + " lacks " + name + ", which belongs into the same folder", by_name);
  }
  std::string reason;
  if (load_file(file, reason) != nullptr) return {};
  return fail(ErrorCode::compiler_missing, reason);
}

Expected<std::string> release_of(const NvrtcLibrary& library, const std::string& path) {
  int major = 0;
  int minor = 0;
  if (const nvrtcResult result = library.nvrtcVersion(&major, &minor); result != NVRTC_SUCCESS) {
    return fail(ErrorCode::compiler_missing,
                path + " does not report its version: " + library.nvrtcGetErrorString(result));
  }
  return std::to_string(major) + "." + std::to_string(minor);
}

// The version with build number. Compiles an empty program (12 ms), which shows that the library works, and reads the
// version from the head of its PTX; nvrtcVersion returns only "13.0".
Expected<std::string> build_of(const NvrtcLibrary& library, const std::string& path, const std::string& release) {
  const SavedSignals saved;
  auto ptx = run_nvrtc(library, {}, NvrtcOutput::ptx);
  if (ptx) return build_in_ptx(ptx->bytes, release);
  ptx.error().message = path + " does not compile an empty program: " + ptx.error().message;
  return propagate(ptx);
}

}  // namespace

Expected<NvrtcLibrary> NvrtcLibrary::load(const std::string& file) {
  auto opened = open_file(file);
  if (!opened) return propagate(opened);
  const std::string& path = opened->path;
  NvrtcLibrary library;
  if (const char* missing = fill(opened->handle, library))
    return fail(ErrorCode::compiler_missing, path + " has no " + missing + ": it is not NVRTC, or too old");
  const auto release = release_of(library, path);
  if (!release) return propagate(release);
  if (auto complete = check_builtins(path, *release); !complete) return propagate(complete);
  auto version = build_of(library, path, *release);
  if (!version) return propagate(version);
  library.location.path = path;
  library.location.version = std::move(*version);
  return library;
}

namespace {

// An NVRTC program. Owning; destroys the program.
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

  // Reads the log, the cubin or the PTX; empty if there is none.
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
      result == NVRTC_ERROR_OUT_OF_MEMORY || (result == NVRTC_ERROR_COMPILATION && is_out_of_memory(log));
  if (no_memory)
    return fail(ErrorCode::out_of_memory, "NVRTC ran out of memory (" + name + "); " + memory_advice(), log);
  return fail(ErrorCode::compile_failed, what + ": " + name, std::move(log));
}

}  // namespace

Expected<NvrtcAnswer> run_nvrtc(const NvrtcLibrary& nvrtc, const NvrtcInput& input, NvrtcOutput output) {
  Program program(nvrtc);
  if (const nvrtcResult made = program.create(input); made != NVRTC_SUCCESS)
    return refuse(nvrtc, "NVRTC could not create a program", made);
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
