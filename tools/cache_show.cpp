// cubinet cache show: prints one entry.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cache/layout.hpp"
#include "cubinet/cubinet.hpp"
#include "jit/compiler.hpp"
#include "jit/families/registry.hpp"
#include "jit/kernel_facts.hpp"
#include "jit/record.hpp"
#include "tools/cache_command.hpp"
#include "tools/cache_text.hpp"
#include "tools/output.hpp"
#include "util/files.hpp"
#include "util/text.hpp"

namespace cubinet::tools {
namespace {

constexpr const char* show_help =
    "Reads the object and compares every byte with its digest; exit code 1 if it is damaged.\n"
    "--sass runs nvdisasm, or else cuobjdump, of CUDA_HOME, /usr/local/cuda or PATH. --ptx compiles the\n"
    "kernel again, since a cabinet stores no PTX; this needs NVRTC, and the same templates as the entry\n"
    "was compiled from. Exit code 1 if one of these is missing or differs.\n\n"
    "Example:\n"
    "  cubinet cache show 3f9a01c2 --cache /opt/kernels\n"
    "  cubinet cache show 3f9a01c2 --sass > kernel.sass\n\n"
    "With --json:\n";

constexpr const char* show_more_fields_help =
    "  kernel_names  entry points in the object\n"
    "  record        the record, whose SHA-256 is the key: everything that shapes the kernel's code\n";

constexpr const char* disassembler_advice =
    "install a CUDA toolkit, or `pip install nvidia-cuda-nvdisasm`, and name the folder that contains bin/ with "
    "CUDA_HOME, or put it on PATH";

struct Disassembler {
  const char* name;
  const char* option;  // prints SASS only
};
constexpr Disassembler disassemblers[] = {{"nvdisasm", "--print-code"}, {"cuobjdump", "-sass"}};

// The program's path in a toolkit, else its bare name, which is looked up in PATH.
std::string place_of(const std::string& name) {
  std::vector<std::string> folders = ServiceOptions::from_environment().nvrtc_folders;
  folders.emplace_back("/usr/local/cuda");
  for (const std::string& folder : folders) {
    std::string path = folder + "/bin/" + name;
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return name;
}

// Runs a program and returns its exit code, 128 + the signal that ended it, or nullopt if it does not exist.
Expected<std::optional<int>> run(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t process = 0;
  std::fflush(stdout);  // before the program's output
  const int error = posix_spawnp(&process, arguments[0], nullptr, nullptr, arguments.data(), environ);
  if (error == ENOENT) return std::optional<int>();
  if (error != 0) return fail(ErrorCode::io, util::system_message("run", words.front(), error));
  int status = 0;
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return fail(ErrorCode::io, util::system_message("wait for", words.front(), errno));
  }
  return std::optional(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

using util::format_byte_size;

// Runs nvdisasm, or else cuobjdump, to print the SASS of a cubin on standard output. not_found, with what to install,
// if there is neither; io if the program fails.
Expected<void> print_sass(const std::filesystem::path& cubin) {
  for (const auto& [name, option] : disassemblers) {
    const std::string program = place_of(name);
    const auto ended = run({program, option, cubin.native()});
    if (!ended) return propagate(ended);
    if (!*ended) continue;
    if (**ended == 0 || **ended == 128 + SIGPIPE) return {};  // the reader of a pipe may close it early
    return fail(ErrorCode::io, fmt::format("{} failed with exit code {}; it may be older than the cubin: {}", program,
                                           **ended, disassembler_advice));
  }
  return fail(ErrorCode::not_found,
              fmt::format("neither nvdisasm nor cuobjdump is in bin/ of CUDA_HOME or /usr/local/cuda, nor in PATH; {}",
                          disassembler_advice));
}

struct ShowOptions {
  std::string key;
  bool ptx = false;
  bool sass = false;
};

void print_entry(const cache::Entry& entry, const Known& known) {
  const cache::Facts& facts = entry.facts;
  const jit::KernelFacts kernel = jit::kernel_facts(facts);
  const auto line = [](std::string_view name, const std::string& value) {
    print(fmt::format("{:<14}{}\n", name, value));
  };
  line("key", entry.key.hex());
  line("family", short_text(kernel.family));
  line("arch", short_text(facts.arch));
  line("N, K", fmt::format("{}, {}", size_text(kernel.n), size_text(kernel.k)));
  line("config", config_text(kernel.config));
  line("compiler", facts.compiler.empty() ? "not recorded" : short_text(facts.compiler));
  line("registers", fmt::format("{} per thread", kernel.registers));
  line("spilled", fmt::format("{} per thread", format_byte_size(kernel.spill_bytes)));
  line("shared memory", format_byte_size(kernel.smem_bytes));
  line("compiled in", milliseconds_text(facts.compile_ms));
  line("size", format_byte_size(entry.bytes));
  line("created", fmt::format("{} ago", age_of(facts.created)));
  const std::string last_used = entry.last_used == 0 ? "never" : fmt::format("{} ago", age_of(entry.last_used));
  line("last used", known.use ? last_used : "unknown");
  line("hits", known.use ? std::to_string(entry.hits) : "unknown");
  const std::string kept = kept_text(entry, known);
  line("kept", kept.empty() ? "until it is evicted" : known.kept ? kept : "unknown");
  line("entry points", one_line(fmt::format("{}", fmt::join(kernel.kernel_names, ", "))));
  // In ASCII, so that terminal control characters are escaped.
  line("record", jit::record_value(entry.record).dump(2, ' ', true, Json::error_handler_t::replace));
}

void print_whole(const cache::Entry& entry, const Known& known, bool json) {
  if (!json) return print_entry(entry, known);
  Json object = entry_object(entry, known);
  object["kernel_names"] = jit::kernel_facts(entry.facts).kernel_names;
  object["record"] = jit::record_value(entry.record);
  print_object(object);
}

// The PTX of an entry. The cabinet stores only SASS, so it is compiled again, if this build compiles the same kernel.
Expected<std::string> ptx_of(const cache::Entry& entry) {
  const auto compiler = jit::NvrtcCompiler::open(ServiceOptions::from_environment().nvrtc_folders);
  if (!compiler) return propagate(compiler);
  const auto spec = jit::families().spec_of(entry.record);
  if (!spec) return fail(ErrorCode::unsupported, "this build does not have the entry's family");
  const auto found = jit::differences(entry.record, jit::record_of(*spec));
  if (found.empty()) return (*compiler)->compile_to_ptx(*spec);
  std::string fields;
  for (const jit::Difference& one : found) fields += (fields.empty() ? "" : ", ") + one.field;
  return fail(ErrorCode::unsupported,
              fmt::format("the entry was compiled by another build, whose PTX cannot be generated here: {} {}; "
                          "`cubinet cache explain {}` shows how",
                          fields, found.size() == 1 ? "differs" : "differ", entry.key.hex().substr(0, shown_digits)));
}

Expected<void> print_code(const cache::Entry& entry, const ShowOptions& wanted, const cache::Maintenance& cabinet) {
  if (wanted.sass) return print_sass(cache::Layout{cabinet.root()}.object(entry.key));
  const auto ptx = ptx_of(entry);
  if (!ptx) return propagate(ptx);
  print(*ptx);
  return {};
}

int show(const CacheOptions& options, const ShowOptions& wanted, cache::Maintenance& cabinet) {
  const auto found = find_one(wanted.key, cabinet);
  if (!found) return report_error(found.error(), options.json, exit_failed);
  const cache::Entry& entry = found->entries.front();
  if (const auto whole = cabinet.check(entry.key); !whole) {
    return report_error(unusable_entry(whole.error()), options.json, exit_failed);
  }
  if (wanted.ptx || wanted.sass) {
    const auto printed = print_code(entry, wanted, cabinet);
    return printed ? exit_done : report_error(printed.error(), false, exit_failed);
  }
  note_shortfalls(*found);
  print_whole(entry, known(*found), options.json);
  return exit_done;
}

}  // namespace

void add_cache_show(Command cache) {
  const auto wanted = std::make_shared<ShowOptions>();
  const auto action = [wanted](const CacheOptions& options, cache::Maintenance& cabinet) {
    return show(options, *wanted, cabinet);
  };
  const Command command = add_cache_command(cache, "show", "Print one entry: its kernel, record and resources",
                                            std::string(show_help) + entry_fields_help + show_more_fields_help, action);
  add_key_argument(command, wanted->key);
  const Option ptx = command.flag("--ptx", wanted->ptx, "Print only its PTX; needs NVRTC").excludes("--json");
  command.flag("--sass", wanted->sass, "Print only its SASS; needs nvdisasm or cuobjdump")
      .excludes(ptx)
      .excludes("--json");
}

}  // namespace cubinet::tools
