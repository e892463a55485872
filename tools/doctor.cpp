// cubinet doctor: what this machine has, what is missing, and what mends it.
#include <unistd.h>

#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cubinet/cubinet.hpp"
#include "jit/driver.hpp"
#include "tools/output.hpp"
#include "tools/table.hpp"
#include "tools/toolchain.hpp"
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
    "Exit code 0 when `cubinet warmup` can work here. It needs NVRTC and a cache folder; without a\n"
    "driver or a device kernels can be compiled and stored, but not run.\n"
    "JSON: {warmup, run, checks[] {name, state (ok|absent|failed), found, mend}}; warmup says whether\n"
    "kernels can be compiled and stored here, run whether they can be run.";

enum class State { ok, absent, failed };

struct Check {
  std::string name;
  State state = State::ok;
  std::string found;
  std::string mend;  // empty when there is nothing to mend
};

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

constexpr const char* nvrtc_mend =
    "install a CUDA 13 toolkit and set CUDA_HOME, or the wheel nvidia-cuda-nvrtc and set CUBINET_NVRTC_DIR to the "
    "folder of its libnvrtc";

Check check_nvrtc(const Toolchain& toolchain) {
  if (toolchain.missing) return {"NVRTC", State::absent, toolchain.missing->message, nvrtc_mend};
  const auto& nvrtc = static_cast<const jit::NvrtcCompiler&>(*toolchain.compiler);
  return {"NVRTC", State::ok, fmt::format("version {}, from {}", nvrtc.version(), nvrtc.location().path), ""};
}

// Compiles one small kernel; stores nothing.
Check check_probe(const Toolchain& toolchain) {
  constexpr const char* name = "probe compile";
  if (toolchain.missing) return {name, State::absent, "not tried: there is no NVRTC", nvrtc_mend};
  Problem problem;
  problem.n = 128;
  problem.k = 128;
  problem.groups = 1;
  const auto spec = jit::spec_for(problem, jit::select(problem, 128, {}), "sm_90a");
  const auto kernel = toolchain.compiler->compile(spec);
  if (!kernel) {
    return {name, State::failed,
            kernel.error().message + (kernel.error().detail.empty() ? "" : "\n") + kernel.error().detail,
            "use the NVRTC of a CUDA 13 toolkit (set CUDA_HOME)"};
  }
  return {name, State::ok,
          fmt::format("{} for {} in {}, {} registers, {}", spec.family, spec.architecture,
                      milliseconds_text(kernel->resources.compile_ms), kernel->resources.registers,
                      format_byte_size(static_cast<std::int64_t>(kernel->cubin.size()))),
          ""};
}

// A folder that warmup would have to make: the nearest one above it that exists must be writable.
Check check_absent_cache(const fs::path& root) {
  std::error_code trouble;
  fs::path parent = fs::absolute(root, trouble);
  while (!fs::exists(parent, trouble) && parent.has_parent_path() && parent != parent.parent_path()) {
    parent = parent.parent_path();
  }
  if (access(parent.c_str(), W_OK | X_OK) == 0 && fs::is_directory(parent, trouble)) {
    return {"cache", State::ok, fmt::format("{}: not there yet, warmup makes it", root.string()), ""};
  }
  return {"cache", State::failed,
          fmt::format("{}: not there, and {} cannot be written", root.string(), parent.string()),
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
  return {"cache", State::failed, fmt::format("{}: a cabinet that cannot be written; kernels in it can be used", *root),
          "make it writable, or name another folder with --cache or CUBINET_CACHE_DIR"};
}

Check check_device(const std::shared_ptr<const jit::Driver>& driver, int ordinal) {
  const auto context = jit::DeviceContext::retain(driver, ordinal);
  if (!context) {
    return {"device", State::absent, context.error().message, "no need for warmup; to run kernels, an sm_90a device"};
  }
  const jit::DeviceInfo& info = context->info();
  const std::string found =
      fmt::format("{}: {}, compute capability {}.{}, {} SMs, {}", info.ordinal, info.name, info.compute_major,
                  info.compute_minor, info.num_sms, format_byte_size(static_cast<std::int64_t>(info.total_bytes)));
  if (info.compute_major == 9 && info.compute_minor == 0) return {"device", State::ok, found, ""};
  return {"device", State::failed, found, "kernels for sm_90a run on compute capability 9.0 only"};
}

void check_driver(std::vector<Check>& checks) {
  const auto driver = jit::Driver::open();
  if (!driver) {
    checks.push_back({"driver", State::absent, driver.error().message,
                      "no need for warmup; to run kernels, a machine with an NVIDIA driver"});
    checks.push_back({"device", State::absent, "not looked for: there is no driver", ""});
    return;
  }
  checks.push_back({"driver", State::ok, fmt::format("from {}", (*driver)->path), ""});
  checks.push_back(check_device(*driver, ServiceOptions::from_environment().device));
}

void print_checks(const std::vector<Check>& checks, bool warmup, bool runs) {
  for (const Check& check : checks) {
    print(fmt::format("{:<14} {:<7} {}\n", check.name, state_name(check.state), one_line(check.found)));
    if (!check.mend.empty()) print(fmt::format("{:<14} {:<7} mend: {}\n", "", "", check.mend));
  }
  print(fmt::format("warmup {} here; running kernels {}\n", warmup ? "works" : "does not work",
                    runs ? "works" : "does not (that needs a driver and an sm_90a device)"));
}

int run(const DoctorOptions& options) {
  const Toolchain toolchain = open_toolchain();
  std::vector<Check> checks{check_nvrtc(toolchain), check_probe(toolchain), check_cache(options.cache)};
  bool warmup = true;
  for (const Check& check : checks) warmup = warmup && check.state == State::ok;
  check_driver(checks);
  const bool runs = checks.back().state == State::ok;

  if (options.json) {
    Json array = Json::array();
    for (const Check& check : checks) {
      array.push_back(
          Json{{"name", check.name}, {"state", state_name(check.state)}, {"found", check.found}, {"mend", check.mend}});
    }
    print_object(Json{{"warmup", warmup}, {"run", runs}, {"checks", std::move(array)}});
  } else {
    print_checks(checks, warmup, runs);
  }
  return warmup ? exit_done : exit_failed;
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("doctor", "Say what this machine has, what is missing and what mends it");
  const auto options = std::make_shared<DoctorOptions>();
  add_cache_option(*command, options->cache);
  command->add_flag("--json", options->json, "Print one JSON object");
  command->footer(std::string(doctor_help) + "\n" + exit_codes_help);
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace cubinet::tools
