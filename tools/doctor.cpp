// cubinet doctor: checks what this machine has for a warmup and for running kernels, and what to do about the rest.
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cubinet/cubinet.hpp"
#include "jit/accepted_compilers.hpp"
#include "jit/driver.hpp"
#include "jit/driver_limit.hpp"
#include "jit/families/registry.hpp"
#include "jit/jobs.hpp"
#include "tools/command_line.hpp"
#include "tools/output.hpp"
#include "tools/signals.hpp"
#include "tools/toolchain.hpp"
#include "util/machine.hpp"
#include "util/text.hpp"

namespace cubinet::tools {
namespace {

using util::format_byte_size;

namespace fs = std::filesystem;

struct DoctorOptions {
  std::string cache;
  bool json = false;
};

constexpr const char* doctor_help =
    "Example:\n"
    "  cubinet doctor\n"
    "Exit code 0 if `cubinet warmup` works here, and the driver, if there is one, can load its kernels.\n"
    "Warmup needs NVRTC and a cache folder; without a driver or a device kernels can be compiled and stored,\n"
    "but not run.\n"
    "JSON: {warmup, run, checks[] {name, state (ok|absent|failed), found, mend, note}}; warmup says whether\n"
    "kernels can be compiled and stored here, run whether they can be run.";

// The result of one check.
enum class State { ok, absent, failed };

struct Check {
  std::string name;
  State state = State::ok;
  std::string found;
  std::string advice = {};  // what to do; empty if nothing, or if another check says it. "mend" in JSON
  std::string note = {};    // a remark; may be empty
};

// "ok", ...
const char* state_name(State state) {
  switch (state) {
    case State::ok:
      return "ok";
    case State::absent:
      return "absent";
    case State::failed:
      return "failed";
  }
  return "failed";
}

// A check whose state is `absent`, from an error. If the message ends in "; ADVICE", this is the check's advice, after
// `purpose` if that is not empty.
Check absent(const char* name, const Error& error, const std::string& purpose = {}) {
  const std::size_t end = error.message.rfind("; ");
  if (end == std::string::npos) return {name, State::absent, error.message, purpose, ""};
  const std::string advice = error.message.substr(end + 2);
  return {name, State::absent, error.message.substr(0, end), purpose.empty() ? advice : purpose + ": " + advice, ""};
}

// The note for an NVRTC that this build was not tested with; empty for an accepted one.
std::string unaccepted_note(const std::string& version) {
  if (jit::is_accepted(jit::compiler_name(version))) return {};
  return fmt::format(
      "this build was not tested with it: its kernels are used, and a warmup with NVRTC {} compiles them again",
      jit::preferred_text());
}

Check check_nvrtc(const Toolchain& toolchain) {
  if (toolchain.missing) return absent("NVRTC", *toolchain.missing);
  const jit::NvrtcLocation& location = location_of(toolchain);
  std::string notes = passed_over(toolchain);
  if (const std::string note = unaccepted_note(location.version); !note.empty()) {
    notes += (notes.empty() ? "" : "; ") + note;
  }
  return {"NVRTC", State::ok, fmt::format("version {}, from {}", location.version, location.path), "", notes};
}

// Whether kernels are compiled in a separate process.
Check check_worker(const Toolchain& toolchain) {
  constexpr const char* name = "compile worker";
  if (toolchain.missing) return {name, State::absent, "not started: there is no NVRTC", "", ""};
  const std::string& reason = location_of(toolchain).in_process;
  if (reason.empty()) return {name, State::ok, jit::shipped_worker(), "", ""};
  return {name, State::absent, reason, "", "kernels are compiled in the calling process, and a crash of NVRTC ends it"};
}

// What to do if NVRTC `version` does not compile the probe. The templates are for NVRTC 13: an older one may not
// support them; if NVRTC 13 refuses them, they are broken.
std::string probe_advice(const std::string& version) {
  const auto major = parse_number(version.substr(0, version.find('.')));
  if (major && *major < 13) return "use the NVRTC of a CUDA 13 toolkit (set CUDA_HOME)";
  return "the kernel templates of this build are broken, see the log: install or build cubinet again";
}

// Compiles one small kernel; stores nothing.
Check check_probe(const Toolchain& toolchain) {
  constexpr const char* name = "probe compile";
  if (toolchain.missing) return {name, State::absent, "not tried: there is no NVRTC", "", ""};
  Problem problem;
  problem.n = 128;
  problem.k = 128;
  problem.groups = 1;
  const auto spec = jit::families().select(problem, 128);
  const auto kernel = toolchain.compiler->compile(spec);
  if (!kernel) {
    return {name, State::failed,
            kernel.error().message + (kernel.error().detail.empty() ? "" : "\n") + kernel.error().detail,
            probe_advice(toolchain.compiler->version()), ""};
  }
  return {name, State::ok,
          fmt::format("{} for {} in {}, {} registers, {}", spec.family_name(), spec.architecture,
                      milliseconds_text(kernel->resources.compile_ms), kernel->resources.registers,
                      format_byte_size(static_cast<std::int64_t>(kernel->cubin.size()))),
          "", ""};
}

// A folder that warmup would create: its nearest existing parent must be writable.
Check check_absent_cache(const fs::path& root) {
  std::error_code trouble;
  fs::path parent = fs::absolute(root, trouble);
  while (!fs::exists(parent, trouble) && parent.has_parent_path() && parent != parent.parent_path()) {
    parent = parent.parent_path();
  }
  if (access(parent.c_str(), W_OK | X_OK) == 0 && fs::is_directory(parent, trouble)) {
    return {"cache", State::ok, fmt::format("{}: does not exist yet, warmup creates it", root.string()), ""};
  }
  return {"cache", State::failed,
          fmt::format("{}: does not exist, and {} cannot be written", root.string(), parent.string()),
          "name another folder with --cache or CUBINET_CACHE_DIR"};
}

Check check_cache(const std::string& option) {
  const auto root = cache_root(option);
  if (!root) return {"cache", State::failed, root.error().message, "give --cache DIR or set CUBINET_CACHE_DIR"};
  std::error_code trouble;
  const bool empty = fs::is_directory(*root, trouble) && fs::is_empty(*root, trouble);
  if (!fs::exists(*root, trouble) || empty) return check_absent_cache(*root);
  const auto cabinet = cache::Cabinet::open(*root, false);
  if (!cabinet) {
    return {"cache", State::failed, cabinet.error().message, "name another folder with --cache or CUBINET_CACHE_DIR"};
  }
  if (cabinet->persistence() == cache::Persistence::on) {
    return {"cache", State::ok, fmt::format("{}: a cabinet, writable", *root), ""};
  }
  return {"cache", State::failed, fmt::format("{}: a cabinet that cannot be written; its kernels can be used", *root),
          "make it writable, or name another folder with --cache or CUBINET_CACHE_DIR"};
}

using OpenedDriver = Expected<std::shared_ptr<const jit::Driver>>;

// Fails if the driver is too old for kernels of the NVRTC version `compiler`. Without a driver the state is `absent`:
// kernels can be compiled without one.
Check check_driver(const OpenedDriver& driver, const std::string& compiler) {
  if (!driver) return absent("driver", driver.error(), "not needed for warmup; to run kernels");
  const int version = (*driver)->version();
  const std::string found = fmt::format("CUDA {}, from {}", jit::cuda_version_text(version), (*driver)->path);
  if (jit::loads(version, compiler)) return {"driver", State::ok, found, ""};
  return {"driver", State::failed, fmt::format("{}: too old for kernels of NVRTC {}", found, compiler),
          jit::driver_limit_advice(version, compiler)};
}

// Checks the device with that number.
Check check_device(const OpenedDriver& driver, int ordinal) {
  if (!driver) return {"device", State::absent, "not checked: there is no driver", "", ""};
  const auto context = jit::DeviceContext::retain(*driver, ordinal);
  if (!context) {
    return {"device", State::absent, context.error().message,
            "not needed for warmup; to run kernels, use an sm_90a device"};
  }
  const jit::DeviceInfo& info = context->info();
  const std::string found =
      fmt::format("{}: {}, compute capability {}.{}, {} SMs, {}", info.ordinal, info.name, info.compute_major,
                  info.compute_minor, info.num_sms, format_byte_size(static_cast<std::int64_t>(info.total_bytes)));
  if (info.compute_major == 9 && info.compute_minor == 0) return {"device", State::ok, found, ""};
  return {"device", State::failed, found, "kernels for sm_90a run on compute capability 9.0 only"};
}

void print_checks(const std::vector<Check>& checks, bool warmup, bool runs) {
  for (const Check& check : checks) {
    print(fmt::format("{:<14} {:<7} {}\n", check.name, state_name(check.state), one_line(check.found)));
    if (!check.advice.empty()) print(fmt::format("{:<14} {:<7} fix: {}\n", "", "", one_line(check.advice)));
    if (!check.note.empty()) print(fmt::format("{:<14} {:<7} note: {}\n", "", "", one_line(check.note)));
  }
  print(warmup ? "Warmup works here. " : "Warmup does not work here. ");
  print(runs ? "Kernels can be run here.\n"
             : "Kernels cannot be run here: that needs an sm_90a device and a driver that loads them.\n");
}

int run(const DoctorOptions& options) {
  const SignalWatch watch(FirstSignal::ends);
  const Toolchain toolchain = open_toolchain(jit::check_memory(util::memory_rooms()));
  std::vector<Check> checks{check_nvrtc(toolchain), check_probe(toolchain), check_cache(options.cache)};
  bool warmup = true;
  for (const Check& check : checks) warmup = warmup && check.state == State::ok;
  checks.insert(checks.begin() + 1, check_worker(toolchain));
  const auto driver = jit::Driver::open();
  checks.push_back(check_driver(driver, toolchain.compiler->version()));
  const bool too_old = checks.back().state == State::failed;
  checks.push_back(check_device(driver, ServiceOptions::from_environment().device));
  const bool runs = checks.back().state == State::ok && !too_old;

  if (options.json) {
    Json array = Json::array();
    for (const Check& check : checks) {
      array.push_back(Json{{"name", check.name},
                           {"state", state_name(check.state)},
                           {"found", check.found},
                           {"mend", check.advice},
                           {"note", check.note}});
    }
    print_object(Json{{"warmup", warmup}, {"run", runs}, {"checks", std::move(array)}});
  } else {
    print_checks(checks, warmup, runs);
  }
  return warmup && !too_old ? exit_done : exit_failed;
}

}  // namespace

void add_doctor(Command root) {
  const Command command =
      root.subcommand("doctor", "Check what this machine has, and print what is missing and how to get it");
  const auto options = std::make_shared<DoctorOptions>();
  add_cache_option(command, options->cache);
  command.flag("--json", options->json, "Print one JSON object");
  command.footer(std::string(doctor_help) + "\n" + exit_codes_help);
  command.action([options] { return run(*options); });
}

}  // namespace cubinet::tools
